// graphile-worker, jobs that do nothing, 24 at once:
//     node graphile_worker.mjs HOST DATABASE batched|single JOBS
// `batched`: its local queue takes 500 jobs at a time, and completions go out
// together; `single`: as it comes.  "ready" when the jobs
// are in, then it waits for a line.  One line of JSON: seconds from the first
// job until all are completed in the database.
import { run, runMigrations } from 'graphile-worker';
import pg from 'pg';

const [host, database, form, count] = process.argv.slice(2);
const jobs = Number(count);
const pgPool = new pg.Pool({ host, database, user: 'argiope', max: 26 });
pgPool.on('error', () => {});
pgPool.on('connect', client => client.on('error', () => {}));
const preset = { worker: { concurrentJobs: 24, maxPoolSize: 26,
    ...(form === 'batched' && { localQueue: { size: 500 },
        completeJobBatchDelay: 0, failJobBatchDelay: 0 }) } };
const silent = { log() {}, scope() { return this; } };
for (const level of ['debug', 'info', 'warn', 'error'])
    silent[level] = () => {};

const ask = async text => Object.values((await pgPool.query(text)).rows[0])[0];
await runMigrations({ pgPool, logger: silent });
// As many at a time as keeps their arrays small.
for (let at = 0; at < jobs; at += 10000)
    await pgPool.query(`SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
        SELECT ROW('nothing', json_build_object('n', n), NULL, NULL, NULL,
        NULL, NULL, NULL)::graphile_worker.job_spec
        FROM generate_series(1, $1::int) n))`, [Math.min(10000, jobs - at)]);
await pgPool.query('VACUUM ANALYZE');

// Whoever measures looks at the server's processor time now.
console.log('ready');
await new Promise(resolve => process.stdin.once('data', resolve));

let done = 0, began = 0, all;
const finished = new Promise(resolve => { all = resolve; });
const cpu = process.cpuUsage();
const runner = await run({ pgPool, preset, logger: silent,
    noHandleSignals: true, taskList: { nothing: async () => {
        began ||= performance.now();
        if (++done === jobs)
            all();
    } } });
await finished;
while (Number(await ask(
    'SELECT count(*) FROM graphile_worker._private_jobs')) > 0);
const seconds = (performance.now() - began) / 1000;
const used = process.cpuUsage(cpu);
await runner.stop();
console.log(JSON.stringify({ jobs: done, seconds,
    cpu: (used.user + used.system) / 1e6,
    mb: process.resourceUsage().maxRSS / 1024 }));
process.exit(0);
