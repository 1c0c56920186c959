import type { AssistantContent } from '../../../assistants/index.ts';
import { invalidAt } from '../../../http/fields.ts';
import { boundedBytes } from '../../common/bounded.ts';
import type { AssistantInput } from '../schemas/assistants.ts';
import { fromConfig } from './config.ts';

/** The bytes of an assistant as JSON. The record takes some more. */
const mostBytes = 60 * 1024;

/** What a request gives of an assistant, as it is stored. @throws Invalid naming the field */
export function contentOf(given: AssistantInput): Partial<AssistantContent> {
  const { graph_id: agent, name, description, metadata, config, context } = given;
  return {
    ...(agent !== undefined && { agent }),
    ...(name !== undefined && { name: name.toWellFormed() }),
    ...(description !== undefined && { description: description.toWellFormed() }),
    ...(metadata && { metadata }),
    ...(config && { config: fromConfig(config, ['body', 'config']) }),
    ...(context && { context }),
  };
}

/** What a request changes: a config that says what is configurable takes the place of the context, and a context that of what is configurable. */
export function changeOf(given: Partial<AssistantContent>, before: AssistantContent): Partial<AssistantContent> {
  const { config, context, metadata } = given;
  // Metadata is merged, as that of threads.
  const merged = { ...given, ...(metadata && { metadata: { ...before.metadata, ...metadata } }) };
  if (config && context) return merged;
  if (context && Object.keys(context).length > 0) return { ...merged, config: withoutConfigurable(before.config) };
  const isConfigurable = config && Object.keys(withoutConfigurable(config)).length < Object.keys(config).length;
  return isConfigurable ? { ...merged, context: {} } : merged;
}

const withoutConfigurable = (config: AssistantContent['config']): AssistantContent['config'] =>
  Object.fromEntries(Object.entries(config).filter(([name]) => name === 'tags' || name === 'recursion_limit'));

/** @throws Invalid for an assistant that is too large as a whole */
export function refuseLargeAssistant(content: Partial<AssistantContent>): void {
  boundedBytes(content, ['body', 'config'], mostBytes);
}

/** @throws Invalid for an agent that the service does not have */
export function refuseUnknownAgent(agent: string | undefined, agents: readonly string[]): void {
  if (agent === undefined || agents.includes(agent)) return;
  throw invalidAt(['body', 'graph_id'], `must be one of the graphs: ${agents.join(', ')}`);
}
