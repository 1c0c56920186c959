import type { RunOrder } from '../../common/run-order.ts';
import { unsupported } from '../replies/refusal.ts';
import { ChatCompletion, type ChatInput } from '../schemas/chat.ts';
import { chatSettings } from '../schemas/common.ts';
import { outputSchemaOf } from './output-schema.ts';
import { refuseGiven, refuseTier, refuseUnknown, settingsOf } from './settings.ts';
import { toTools } from './tools.ts';

/** What a run of a chat completion has beside its messages and its thread. */
type ChatOrder = Pick<RunOrder, 'tools' | 'recursion_limit'> & {
  readonly config: Readonly<Record<string, unknown>>;
};

/** Rounds of one node, at most. */
export const usualLimit = 25;

/** What a chat completion asks for. @throws Invalid naming what no agent can do */
export function toChatOrder(input: ChatInput): ChatOrder {
  refuseUnknown(input, ChatCompletion);
  refuseUnable(input);
  const settings = settingsOf(input, [...Object.keys(chatSettings), 'response_format']);
  const schema = outputSchemaOf(input.response_format, ['response_format']);
  const { thread_id: _, ...metadata } = input.metadata ?? {};
  const tools = toTools(input.tools ?? [], input.tool_choice);
  return {
    recursion_limit: usualLimit,
    ...(tools.length > 0 && { tools }),
    config: {
      agent: input.model,
      ...(Object.keys(metadata).length > 0 && { metadata }),
      ...(settings && { openai: settings }),
      ...(schema && { output_schema: schema }),
    },
  };
}

function refuseUnable(input: ChatInput): void {
  if (input.n !== undefined && input.n !== 1) throw unsupported(['n'], 'a run has one answer');
  if (input.modalities?.some((name) => name !== 'text')) throw unsupported(['modalities'], 'agents answer with text');
  refuseTier(input.service_tier);
  refuseGiven(input, {
    audio: 'agents answer with text',
    functions: 'use `tools`',
    function_call: 'use `tool_choice`',
    logit_bias: 'an agent is no single model',
    logprobs: 'an agent is no single model',
    top_logprobs: 'an agent is no single model',
    prediction: 'an agent is no single model',
    web_search_options: 'the agent has tools of its own',
    moderation: 'nothing is moderated here',
    store: 'completions are not stored: use `metadata.thread_id`, or responses',
    prompt_cache_options: 'nothing is cached here',
  });
}
