import type { FinishReason } from './model.ts';

/** The words that providers have for the end of an answer, in small letters and with `_` in place of `-`. */
const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ...words('stop', 'stop stop_sequence end end_turn eos eos_token complete completed finish finished done normal'),
  ...words(
    'length',
    'length max_tokens max_output_tokens max_completion_tokens model_length model_context_window_exceeded token_limit time_limit',
  ),
  ...words('tool_calls', 'tool_calls tool_call tool_use function_call'),
  ...words(
    'content_filter',
    'content_filter content_filtered safety recitation blocklist prohibited_content spii language image_safety refusal sensitive guardrail_intervened',
  ),
  ...words(
    'error',
    'error network_error malformed_function_call unexpected_tool_call cancelled canceled abort aborted failed timeout insufficient_system_resource',
  ),
]);

function words(reason: FinishReason, list: string): [string, FinishReason][] {
  return list.split(' ').map((word) => [word, reason]);
}

/** Why an answer ended, from the word of its provider. */
export const readFinishReason = (word: unknown): FinishReason =>
  (typeof word === 'string' ? reasons.get(word.toLowerCase().replaceAll('-', '_')) : undefined) ?? 'unknown';
