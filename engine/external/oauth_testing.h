/*
 * oauth_testing -- declarations with `oauth` for tests; ' stands for ".
 */
#ifndef ENGINE_EXTERNAL_OAUTH_TESTING_H
#define ENGINE_EXTERNAL_OAUTH_TESTING_H

#include "engine/external/external_connector.h"
#include "engine/external/oauth_flow.h"

/* A declaration whose `oauth` has these members. */
#define OAUTH_DECLARED(members)                                              \
	"{'name':'n','version':1,'title':'T','schema':{},'docIdField':'id'," \
	"'credential':'oauth','oauth':{" members "},'api':{'url':"           \
	"'https://a.example/x','label':'l','items':'/list','id':'/id',"      \
	"'auth':{'kind':'bearer'}}}"
#define OAUTH_PLAIN "'kind':'oauth2','authorize':'https://a.example/auth'," \
	"'token':'https://a.example/token'"
#define OAUTH_OLD "'kind':'oauth1','authorize':'https://a.example/auth',"   \
	"'token':'https://a.example/token','request':"                       \
	"'https://a.example/request'"
#define OAUTH_MASTODON_MEMBERS                                               \
	"'kind':'oauth2','authorize':'https://{instance}/oauth/authorize',"  \
	"'token':'https://{instance}/oauth/token','revoke':"                 \
	"'https://{instance}/oauth/revoke','scopes':['read','profile'],"     \
	"'clientAuth':'post','selectAccount':'force_login=true','profile':{" \
	"'url':'https://{instance}/api/v1/accounts/verify_credentials',"     \
	"'account':'/url','name':'/display_name'},'parameters':{'instance':" \
	"'social.example'},'hosts':['social.example','*.b.example'],"        \
	"'register':{'form':'mastodon','url':'https://{instance}/api/v1/apps'}"

#endif
