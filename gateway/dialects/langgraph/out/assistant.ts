import type { Assistant, AssistantContent } from '../../../assistants/index.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { shownTime } from './shown-time.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** An assistant as clients read it. */
interface ShownAssistant extends JsonObject {
  readonly assistant_id: string;
  readonly graph_id: string;
}

/** The config of a run as LangGraph's clients write it: what nodes see stands in `configurable`. */
export function toConfig(config: JsonObject): JsonObject {
  const { recursion_limit: limit, tags, ...configurable } = config;
  return {
    ...(tags !== undefined && { tags }),
    ...(limit !== undefined && { recursion_limit: limit }),
    ...(Object.keys(configurable).length > 0 && { configurable }),
  };
}

/** What clients see of one version. What is configurable is shown as its context, too, and the other way round. */
function shownContent({ agent, name, description, metadata, config, context }: AssistantContent, byDefault: string) {
  const shown = toConfig(config);
  const isEmpty = Object.keys(context).length === 0;
  return {
    graph_id: agent ?? byDefault,
    config: isEmpty ? shown : { configurable: context, ...shown },
    context: isEmpty ? (shown['configurable'] ?? {}) : context,
    metadata,
    name: name ?? 'Untitled',
    description: description ?? null,
  };
}

/** A stored assistant; `byDefault` is the agent of one that names none. */
export const toAssistant = (assistant: Assistant, byDefault: string): ShownAssistant => ({
  assistant_id: assistant.id,
  ...shownContent(assistant, byDefault),
  created_at: shownTime(assistant.createdAt),
  updated_at: shownTime(assistant.updatedAt),
  version: assistant.version,
});

interface Version extends AssistantContent {
  readonly version: number;
  readonly madeAt: number;
}

/** One version of a stored assistant. */
export const toAssistantVersion = (id: string, version: Version, byDefault: string): ShownAssistant => ({
  assistant_id: id,
  ...shownContent(version, byDefault),
  created_at: shownTime(version.madeAt),
  version: version.version,
});

/** The own assistant of an agent. It is there as long as the agent is, and has one version. */
export const toOwnAssistant = (agent: string): ShownAssistant => ({
  assistant_id: assistantIdOf(agent),
  graph_id: agent,
  config: {},
  context: {},
  metadata: { created_by: 'system' },
  name: agent,
  created_at: shownTime(0),
  updated_at: shownTime(0),
  version: 1,
  description: null,
});
