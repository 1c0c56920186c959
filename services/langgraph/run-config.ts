import type { RunContext } from '@agent-workflow/graph';

type JsonObject = Readonly<Record<string, unknown>>;

/** Names by which the service, or LangGraph, reads the config of a run: what nodes get under them does not come from the request. */
const ownNames = new Set([
  ...['thread_id', 'run_id', 'graph_id', 'assistant_id', 'checkpoint_id', 'checkpoint_ns', 'checkpoint_map'],
  ...['agent', 'assistant_version', 'langgraph_assistant_id', 'metadata', 'multitask_strategy', 'on_completion'],
  ...['on_disconnect', 'remote_tools', 'tags', 'thread_name', 'ttl', 'user', 'idempotency_key'],
  ...['langgraph_auth_user', 'langgraph_auth_user_id', 'langgraph_auth_permissions'],
]);

/** Claims by which code decides what a caller may do: those in a config are of the caller who has signed in, and those in a context are not. */
const claims = new Set(['user_id', 'role', 'roles', 'sub', 'email', 'scope']);

/** What LangGraph gets of a run: `configurable` and `context` as LangGraph Server fills them, each with what is in the other, and the tags and the metadata of the request. */
export function runConfigOf(context: RunContext, idempotencyKey?: string): object {
  const { config, user, threadId, runId } = context;
  const given = withoutOwn(config);
  const ofContext = Object.entries(withoutOwn(context.context));
  const isFree = ([name]: readonly [string, unknown]): boolean => !claims.has(name) && !Object.hasOwn(user, name);
  const free = Object.fromEntries(ofContext.filter(isFree));
  const about = metadataOf(config).filter(isFree);
  const { tags } = config;
  const ids = { thread_id: threadId, run_id: runId, ...idsOf(config) };
  return {
    configurable: { ...given, ...free, ...ids, ...userOf(config, user), user, idempotency_key: idempotencyKey },
    context: { ...given, ...context.context },
    ...(Array.isArray(tags) && { tags }),
    ...(about.length > 0 && { metadata: Object.fromEntries(about) }),
  };
}

const withoutOwn = (values: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !ownNames.has(name) && !name.startsWith('__')));

/** By names of these kinds LangGraph and LangChain say what a node and a model are. */
const ofEngine = /^(?:langgraph|checkpoint|ls)_/;

function metadataOf({ metadata }: JsonObject): readonly (readonly [string, unknown])[] {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return [];
  return Object.entries(withoutOwn(metadata as JsonObject)).filter(([name]) => !ofEngine.test(name));
}

/** The graph and the assistant of the run, where its config says which. */
function idsOf({ agent, graph_id: graph = agent, assistant_id: stored, langgraph_assistant_id: own }: JsonObject) {
  const assistant = stored ?? own;
  return {
    ...(graph !== undefined && { graph_id: graph }),
    ...(assistant !== undefined && { assistant_id: assistant }),
  };
}

/** The caller, as far as anybody signs in. */
function userOf({ user_id: id }: JsonObject, user: JsonObject) {
  const isKnown = Object.keys(user).length > 0;
  const { permissions } = user;
  return {
    langgraph_auth_user: isKnown ? user : null,
    langgraph_auth_user_id: isKnown && typeof id === 'string' ? id : '',
    langgraph_auth_permissions: Array.isArray(permissions) ? (permissions as readonly unknown[]) : [],
  };
}
