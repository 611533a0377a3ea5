/*
 * openapi_schemas -- the shapes of bodies, as JSON Schema 2020-12 with ' for ".
 * "#Name" in a text stands for a reference to another one.
 *
 * Included by openapi.c alone.
 */
#ifndef DOORS_ITEMS_OPENAPI_SCHEMAS_H
#define DOORS_ITEMS_OPENAPI_SCHEMAS_H

#define S_TEXT "{'type':'string'}"
#define S_TEXTS "{'type':'array','items':{'type':'string'}}"
#define S_TEXT_OR_NULL "{'type':['string','null']}"
#define S_TIME "{'type':'string','format':'date-time'}"
#define S_TIME_OR_NULL "{'type':['string','null'],'format':'date-time'}"
#define S_COUNT "{'type':'integer','minimum':0}"
#define S_YES "{'type':'boolean'}"
#define S_YES_OR_NULL "{'type':['boolean','null']}"
#define S_DATA "{'type':'object'}"
#define S_LIST(of) "{'type':'array','items':" of "}"
#define S_OBJECT(required, members) "{'type':'object','required':[" required \
	"],'properties':{" members "}}"
/* Of requests: a member that is not named is refused. */
#define S_INPUT(required, members) "{'type':'object','required':[" required \
	"],'properties':{" members "},'additionalProperties':false}"
#define S_PAGE(word, of) S_OBJECT("'" word "'", "'" word "':" S_LIST(of) \
	",'next':" S_TEXT_OR_NULL)
#define S_MAP(of) "{'type':'object','additionalProperties':" of "}"

#define S_NEW_ITEM "'tags':" S_LIST("#Tag") ",'data':" S_DATA ",'aliases':" \
	S_TEXTS ",'failIfExists':" S_YES ",'createdBy':" S_TEXT_OR_NULL

#define S_REPLAY "'mode':{'enum':['compare','verify','apply',null]}," \
	"'loose':" S_YES

static const struct {
	const char *name, *text;
} schemas[] = {
	{ "Error", S_OBJECT("'error','code'", "'error':" S_TEXT ",'code':"
	    S_TEXT) },
	{ "Object", "{'type':'object'}" },
	{ "Empty", S_INPUT("", "") },
	{ "Tag", "{'anyOf':[{'type':'string'}," S_INPUT("'name'", "'name':"
	    S_TEXT ",'value':" S_TEXT_OR_NULL) "]}" },
	{ "Item", S_OBJECT("'id','aliases','tags','data','created_by',"
	    "'created_at','updated_at','rev'", "'id':" S_TEXT ",'aliases':"
	    S_TEXTS ",'tags':" S_LIST(S_OBJECT("'name','value'", "'name':"
	    S_TEXT ",'value':" S_TEXT_OR_NULL)) ",'data':" S_DATA
	    ",'created_by':" S_TEXT_OR_NULL ",'created_at':" S_TIME
	    ",'updated_at':" S_TIME ",'rev':" S_COUNT ",'metadata':"
	    S_MAP("{'type':['object','null']}")) },
	{ "Items", S_PAGE("items", "#Item") },
	{ "Create", S_INPUT("'data'", "'id':" S_TEXT_OR_NULL "," S_NEW_ITEM) },
	{ "Upsert", S_INPUT("", S_NEW_ITEM) },
	{ "Effect", S_OBJECT("'id','effect'", "'id':" S_TEXT ",'effect':"
	    "{'enum':['new','updated','skipped','deleted']},'rev':" S_COUNT) },
	{ "Import", S_OBJECT("'lines','new','skipped','errors'", "'lines':"
	    S_COUNT ",'new':" S_COUNT ",'skipped':" S_COUNT ",'errors':"
	    S_LIST(S_OBJECT("'line','error'", "'line':" S_COUNT ",'error':"
	    S_TEXT))) },
	{ "EffectOrImport", "{'anyOf':[#Effect,#Import]}" },
	{ "Rename", S_INPUT("'to'", "'to':" S_TEXT) },
	{ "Merge", S_INPUT("'into'", "'into':" S_TEXT ",'data':" S_DATA) },
	{ "FailIfExists", S_INPUT("", "'failIfExists':" S_YES) },
	{ "Alias", S_OBJECT("'id','alias','effect'", "'id':" S_TEXT
	    ",'alias':" S_TEXT ",'effect':{'enum':['alias_new',"
	    "'alias_deleted','skipped']}") },
	{ "Value", S_INPUT("", "'value':" S_TEXT_OR_NULL) },
	{ "Blob", S_OBJECT("'name','sha256','bytes','type'", "'name':" S_TEXT
	    ",'sha256':" S_TEXT ",'bytes':" S_COUNT ",'type':" S_TEXT) },
	{ "Blobs", S_OBJECT("'blobs'", "'blobs':" S_LIST("#Blob")) },
	{ "BlobDeleted", S_OBJECT("'name','effect'", "'name':" S_TEXT
	    ",'effect':{'const':'blob_deleted'}") },
	{ "Metadata", S_OBJECT("'id','metadata'", "'id':" S_TEXT
	    ",'metadata':" S_MAP("{'type':['object','null'],'properties':{"
	    "'metadata':" S_DATA ",'task_version':" S_TEXT ",'is_successful':"
	    S_YES ",'is_stale':" S_YES ",'completed_at':" S_TIME_OR_NULL
	    ",'expires_at':" S_TIME_OR_NULL "}}")) },
	{ "PairState", "{'enum':['unprocessed','stale','fresh','expired',"
	    "'retry','leased','blocked','failed',null]}" },
	{ "Operation", S_OBJECT("'task','state','tags','task_version',"
	    "'current_version','is_successful','is_invalidated','expires_at',"
	    "'due_at','attempt','blocked_by','failures'", "'task':" S_TEXT
	    ",'state':#PairState,'tags':" S_TEXTS ",'task_version':"
	    S_TEXT_OR_NULL ",'current_version':" S_TEXT_OR_NULL
	    ",'is_successful':" S_YES_OR_NULL ",'is_invalidated':"
	    S_YES_OR_NULL ",'expires_at':" S_TIME_OR_NULL ",'due_at':"
	    S_TIME_OR_NULL ",'attempt':" S_COUNT ",'blocked_by':"
	    S_LIST(S_OBJECT("'task','reason'", "'task':" S_TEXT ",'reason':"
	    S_TEXT)) ",'failures':" S_COUNT) },
	{ "Operations", S_OBJECT("'id'", "'id':" S_TEXT ",'operations':"
	    S_LIST("#Operation") ",'tasks':" S_LIST("#Operation")) },
	{ "Now", S_INPUT("", "'now':" S_YES) },
	{ "Simulate", S_INPUT("", "'archived':" S_YES ",'module':"
	    S_TEXT_OR_NULL ",'files':{'type':['object','null'],"
	    "'additionalProperties':" S_TEXT "}") },
	{ "Simulation", S_OBJECT("'ok','mutations','fetches','log','used',"
	    "'error'", "'ok':" S_YES ",'mutations':" S_LIST(S_OBJECT("'op',"
	    "'id','effect','diff'", "'op':" S_TEXT ",'id':" S_TEXT
	    ",'effect':" S_TEXT ",'diff':" S_LIST("{'type':'object'}")))
	    ",'fetches':" S_LIST("{'type':'object'}") ",'log':"
	    S_LIST("{'type':'object'}") ",'used':" S_DATA
	    ",'error':{'type':['object','null']}") },
	{ "ReplayRun", S_INPUT("", S_REPLAY) },
	{ "ReplayTask", S_INPUT("", S_REPLAY ",'item':" S_TEXT_OR_NULL
	    ",'tag':" S_TEXT_OR_NULL ",'since':" S_TIME_OR_NULL ",'after':"
	    S_TEXT_OR_NULL ",'limit':" S_COUNT) },
	{ "Replay", S_OBJECT("'counts','runs','next'", "'counts':"
	    S_MAP(S_COUNT) ",'runs':" S_LIST(S_OBJECT("'run','task','item',"
	    "'status','diff','error','reason'", "'run':" S_TEXT ",'task':"
	    S_TEXT ",'item':" S_TEXT ",'status':" S_TEXT ",'diff':"
	    "{'type':['array','null']},'error':{'type':['object','null']},"
	    "'reason':" S_TEXT_OR_NULL)) ",'next':" S_TEXT_OR_NULL) },
	{ "Fetch", S_INPUT("'lease','url'", "'lease':" S_TEXT ",'url':" S_TEXT
	    ",'method':" S_TEXT_OR_NULL ",'headers':{'type':['object',"
	    "'null']},'body':" S_TEXT_OR_NULL ",'bodyBase64':"
	    S_TEXT_OR_NULL ",'contentType':" S_TEXT_OR_NULL ",'session':"
	    S_TEXT_OR_NULL ",'accept':{},'redirect':{'enum':['follow',"
	    "'manual',null]},'timeout':{},'maxAge':{},'first_turn_ms':"
	    S_COUNT) },
	{ "Session", S_INPUT("'lease','do','name'", "'lease':" S_TEXT
	    ",'do':{'enum':['ask','expired','store','fail','invalidate']},"
	    "'name':" S_TEXT ",'version':" S_COUNT ",'data':" S_DATA
	    ",'message':" S_TEXT) },
	{ "WorkerConfig", S_OBJECT("'generation','hash','secrets'",
	    "'generation':" S_COUNT ",'hash':" S_TEXT_OR_NULL ",'secrets':"
	    S_MAP(S_TEXT)) },
	{ "State", S_OBJECT("'id','task','state'", "'id':" S_TEXT ",'task':"
	    S_TEXT ",'state':#PairState") },
	{ "Ttl", S_INPUT("'ttl'", "'ttl':{'type':['string','integer',"
	    "'null']}") },
	{ "Expiry", S_OBJECT("'id','task','expires_at'", "'id':" S_TEXT
	    ",'task':" S_TEXT ",'expires_at':" S_TIME_OR_NULL) },
	{ "Run", S_OBJECT("'run','started_at','outcome','attempt',"
	    "'task_version'", "'run':" S_TEXT ",'started_at':" S_TIME
	    ",'outcome':{'enum':['success','failure']},'attempt':" S_COUNT
	    ",'task_version':" S_TEXT ",'wall_ms':" S_COUNT ",'cpu_ms':"
	    S_COUNT ",'memory_bytes':" S_COUNT ",'fetches':" S_COUNT
	    ",'bytes':" S_COUNT) },
	{ "Runs", S_OBJECT("'runs'", "'runs':" S_LIST("#Run")) },
	{ "RunRecord", S_OBJECT("'run'", "'run':" S_TEXT) },
	{ "TagCount", S_OBJECT("'name','items','tasks'", "'name':" S_TEXT
	    ",'items':" S_COUNT ",'tasks':" S_TEXTS) },
	{ "Tags", S_PAGE("tags", "#TagCount") },
	{ "Pair", S_OBJECT("'id','task','state','due_at'", "'id':" S_TEXT
	    ",'task':" S_TEXT ",'state':#PairState,'due_at':" S_TIME_OR_NULL) },
	{ "Worklist", S_OBJECT("'tag','worklist'", "'tag':" S_TEXT
	    ",'worklist':" S_LIST("#Pair")) },
	{ "Task", S_OBJECT("'task','version','paused','tripped','waiting',"
	    "'rewriting','counts','used'", "'task':" S_TEXT ",'version':"
	    S_TEXT_OR_NULL ",'paused':" S_YES ",'tripped':" S_YES
	    ",'waiting':" S_TEXT_OR_NULL ",'rewriting':"
	    "{'type':['object','null']},'counts':" S_MAP(S_COUNT) ",'used':"
	    S_MAP(S_COUNT)) },
	{ "Tasks", S_OBJECT("", "'tasks':" S_LIST("#Task") ",'operations':"
	    S_LIST("#Task")) },
	{ "TaskOrTasks", "{'anyOf':[#Task,#Tasks]}" },
	{ "ExpireTask", S_INPUT("", "'tag':" S_TEXT_OR_NULL ",'prefix':"
	    S_TEXT_OR_NULL) },
	{ "Failure", S_OBJECT("'id','item','task','error_data','occurred_at',"
	    "'handled_at','handled_by','note'", "'id':" S_COUNT ",'item':"
	    S_TEXT ",'task':" S_TEXT ",'error_data':" S_DATA
	    ",'occurred_at':" S_TIME ",'handled_at':" S_TIME_OR_NULL
	    ",'handled_by':" S_TEXT_OR_NULL ",'note':" S_TEXT_OR_NULL) },
	{ "Failures", S_PAGE("failures", "#Failure") },
	{ "FailureGroup", S_OBJECT("'message','n','first_at','last_at',"
	    "'items'", "'message':" S_TEXT ",'n':" S_COUNT ",'first_at':"
	    S_TIME ",'last_at':" S_TIME ",'items':" S_TEXTS) },
	{ "FailuresOrGroups", "{'anyOf':[#Failures," S_OBJECT("'groups'",
	    "'groups':" S_LIST("#FailureGroup")) "]}" },
	{ "Handle", S_INPUT("", "'retry':" S_YES ",'note':" S_TEXT_OR_NULL) },
	{ "HandleAll", S_INPUT("", "'retry':" S_YES ",'note':" S_TEXT_OR_NULL
	    ",'message':" S_TEXT_OR_NULL) },
	{ "Handled", S_OBJECT("'handled','requeued'", "'handled':" S_COUNT
	    ",'requeued':" S_COUNT) },
	{ "Config", S_OBJECT("'generation'", "'generation':" S_COUNT
	    ",'loaded_at':" S_TIME_OR_NULL ",'hash':" S_TEXT_OR_NULL
	    ",'files':" S_TEXTS ",'rewriting':{'type':['object','null']}") },
	{ "Generation", S_OBJECT("'generation'", "'generation':" S_COUNT) },
	{ "Faults", S_OBJECT("'error','code','faults'", "'error':" S_TEXT
	    ",'code':" S_TEXT ",'faults':" S_TEXTS) },
	{ "Gone", S_OBJECT("'error','code','oldest'", "'error':" S_TEXT
	    ",'code':" S_TEXT ",'oldest':" S_TEXT) },
	{ "Event", S_OBJECT("'at','type'", "'cursor':" S_TEXT ",'at':" S_TIME
	    ",'type':" S_TEXT ",'id':" S_TEXT_OR_NULL ",'task':"
	    S_TEXT_OR_NULL ",'by':{'type':['object','null']},'diff':"
	    "{'type':['array','null']}") },
	{ "Claim", S_INPUT("'worker'", "'worker':" S_TEXT ",'tasks':" S_TEXTS
	    ",'max':" S_COUNT ",'wait_ms':" S_COUNT ",'lease_ms':" S_COUNT
	    ",'prefetch':" S_TEXTS) },
	{ "Leases", S_OBJECT("'generation','leases'", "'generation':" S_COUNT
	    ",'leases':" S_LIST(S_OBJECT("'lease','task','task_version',"
	    "'attempt','seed','now','lease_until','item'", "'lease':" S_TEXT
	    ",'task':" S_TEXT ",'task_version':" S_TEXT ",'attempt':" S_COUNT
	    ",'seed':" S_TEXT ",'now':" S_TIME ",'lease_until':" S_TIME
	    ",'has_turn':" S_YES ",'item':#Item,'metadata':"
	    S_MAP("{'type':['object','null']}")))) },
	{ "Heartbeat", S_INPUT("'leases'", "'leases':" S_TEXTS ",'lease_ms':"
	    S_COUNT) },
	{ "Heartbeats", S_OBJECT("'leases'", "'leases':"
	    S_MAP(S_TIME_OR_NULL)) },
	{ "Read", S_INPUT("'lease'", "'lease':" S_TEXT ",'items':" S_TEXTS
	    ",'metadata':" S_LIST(S_OBJECT("'id','taskName'", "'id':" S_TEXT
	    ",'taskName':" S_TEXT))) },
	{ "Found", S_OBJECT("'items','metadata'", "'items':"
	    S_MAP("{'anyOf':[#Item,{'type':'null'}]}") ",'metadata':"
	    S_LIST(S_OBJECT("'id','taskName','metadata','rev','is_stale'",
	    "'id':" S_TEXT ",'taskName':" S_TEXT ",'metadata':"
	    "{'type':['object','null']},'rev':" S_COUNT ",'is_stale':"
	    S_YES))) },
	{ "Stored", S_OBJECT("'sha256'", "'sha256':" S_TEXT ",'bytes':"
	    S_COUNT) },
	{ "Completions", S_INPUT("'completions'", "'completions':"
	    S_LIST(S_OBJECT("'lease','outcome'", "'lease':" S_TEXT
	    ",'outcome':{'enum':['success','failure']},'allowFailure':" S_YES
	    ",'error':{'type':['object','null']},'used':" S_DATA
	    ",'mutations':"
	    S_LIST(S_OBJECT("'op'", "'op':" S_TEXT)) ",'log':"
	    S_LIST(S_OBJECT("", "'category':" S_TEXT ",'message':"
	    S_TEXT)))) ) },
	{ "Results", S_OBJECT("'results'", "'results':"
	    S_LIST(S_OBJECT("'lease','status'", "'lease':" S_TEXT
	    ",'status':{'enum':['applied','conflict','lease_lost','failed',"
	    "'refused']},'effects':" S_TEXTS))) },
	{ "Release", S_INPUT("'leases'", "'leases':" S_TEXTS) },
	{ "Released", S_OBJECT("'released'", "'released':" S_COUNT) },
};

#endif
