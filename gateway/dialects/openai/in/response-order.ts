import type { RunOrder } from '../../common/run-order.ts';
import type { Loc } from '../../../http/fields.ts';
import { isObject } from '../messages/content.ts';
import { refusalWith, unsupported } from '../replies/refusal.ts';
import { CreateResponse, responseSettings, type ResponseInput } from '../schemas/responses.ts';
import { usualLimit } from './chat-order.ts';
import { outputSchemaOf } from './output-schema.ts';
import { refuseGiven, refuseTier, refuseUnknown, settingsOf } from './settings.ts';
import { toTools } from './tools.ts';

/** What a run of a response has beside its messages, its thread and its agent. */
type ResponseOrder = Pick<RunOrder, 'tools' | 'recursion_limit'> & {
  readonly config: Readonly<Record<string, unknown>>;
};

/** What a response asks for. @throws Invalid naming what no agent can do */
export function toResponseOrder(input: ResponseInput): ResponseOrder {
  refuseUnknown(input, CreateResponse);
  refuseUnable(input);
  const settings = settingsOf(input, Object.keys(responseSettings));
  const format = input.text?.['format'];
  const schema = outputSchemaOf(isObject(format) ? format : undefined, ['text', 'format']);
  const tools = toTools(input.tools ?? [], input.tool_choice);
  return {
    recursion_limit: usualLimit,
    ...(tools.length > 0 && { tools }),
    config: {
      ...(input.metadata && Object.keys(input.metadata).length > 0 && { metadata: input.metadata }),
      ...(settings && { openai: settings }),
      ...(schema && { output_schema: schema }),
    },
  };
}

/** Additions that a reply of this service never has. */
const neverIncluded: ReadonlySet<string> = new Set(['message.output_text.logprobs']);

function refuseUnable(input: ResponseInput): void {
  const { previous_response_id: previous, conversation, background, store, stream, include = [] } = input;
  if (previous !== undefined && conversation !== undefined)
    throw wrong(['conversation'], 'must be absent where previous_response_id is given');
  if (background && store === false)
    throw wrong(['background'], 'must be false where store is false: nobody could read the response');
  if (!stream && input.stream_options) throw wrong(['stream_options'], 'must be absent where stream is false');
  const at = include.findIndex((name) => neverIncluded.has(name));
  if (at !== -1) throw unsupported(['include', at], 'an agent is no single model');
  refuseTier(input.service_tier);
  refuseGiven(input, {
    prompt: 'prompts are kept by the agent',
    top_logprobs: 'an agent is no single model',
    context_management: 'the agent keeps its context',
    access_programs: 'there are none here',
    background_options: 'a response in the background lives as long as its run',
    moderation: 'nothing is moderated here',
    image: 'agents answer with text',
    prompt_cache_options: 'nothing is cached here',
  });
}

const wrong = (at: Loc, why: string) => refusalWith('Invalid', 'invalid_value', `${at.join('.')} ${why}`, at);
