// pg-boss, jobs that do nothing, fetched and completed by 100, four at once:
//     node pg_boss.mjs HOST DATABASE JOBS
// "ready" when the jobs
// are in, then it waits for a line.  One line of JSON: seconds from the first fetch until all are completed.
import PgBoss from 'pg-boss';

const [host, database, count] = process.argv.slice(2);
const jobs = Number(count);
const boss = new PgBoss({ host, database, user: 'argiope', max: 8,
    supervise: false, schedule: false });
boss.on('error', e => { console.error(String(e)); process.exit(1); });
await boss.start();
await boss.createQueue('nothing');
for (let at = 0; at < jobs; at += 1000)
    await boss.insert(Array.from({ length: Math.min(1000, jobs - at) },
        (_, i) => ({ name: 'nothing', data: { n: at + i } })));
await boss.getDb().executeSql('VACUUM ANALYZE');

// Whoever measures looks at the server's processor time now.
console.log('ready');
await new Promise(resolve => process.stdin.once('data', resolve));

let done = 0;
async function work() {
    for (;;) {
        const got = await boss.fetch('nothing', { batchSize: 100 });
        if (got.length === 0)
            return;
        await boss.complete('nothing', got.map(job => job.id));
        done += got.length;
    }
}
const cpu = process.cpuUsage();
const began = performance.now();
await Promise.all([work(), work(), work(), work()]);
const seconds = (performance.now() - began) / 1000;
const used = process.cpuUsage(cpu);
const left = (await boss.getDb().executeSql('SELECT count(*) AS n FROM ' +
    "pgboss.job WHERE name = 'nothing' AND state <> 'completed'")).rows[0].n;
if (done !== jobs || Number(left) !== 0) {
    console.error(`${done} of ${jobs}, ${left} are left`);
    process.exit(1);
}
console.log(JSON.stringify({ jobs: done, seconds,
    cpu: (used.user + used.system) / 1e6,
    mb: process.resourceUsage().maxRSS / 1024 }));
process.exit(0);
