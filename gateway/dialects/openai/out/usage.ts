/** The tokens of a run, as its end counts them. */
export interface RunUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** The tokens of a chat completion; none where the agent counts none. */
export const toChatUsage = ({ input_tokens: input, output_tokens: output }: RunUsage): object => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    ...{ reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
  },
});

/** The tokens of a response. */
export const toResponseUsage = ({ input_tokens: input, output_tokens: output }: RunUsage): object => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
});
