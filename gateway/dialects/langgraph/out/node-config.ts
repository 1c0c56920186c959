import { readOnlyByService } from '../../common/run-config.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** What nodes get beside the config that a request gives. */
const added: readonly string[] = ['graph_id', 'langgraph_assistant_id'];

/** The config of a run without what the service reads of it, and adds to it. */
export const nodeConfigOf = (config: JsonObject = {}): JsonObject =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !readOnlyByService(name) && !added.includes(name)));
