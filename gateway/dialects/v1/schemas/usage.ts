import { finishReasons, type FinishReason } from '@agent-workflow/protos/usage';
import { count, objectOf } from './common.ts';
import { Type } from '../../common/builders.ts';

export const tokens = {
  input_tokens: count('Tokens that models read'),
  output_tokens: count('Tokens that models wrote'),
};

const endedBy: Readonly<Record<FinishReason, string>> = {
  stop: 'Answers that the model ended',
  length: 'Answers that were cut at the most tokens that an answer may have',
  content_filter: 'Answers that a filter of the provider withheld or cut',
  tool_calls: 'Answers that call tools',
  error: 'Answers that a fault at the provider ended',
  unknown: 'Answers whose end had no reason that is known',
};

/** The tokens that a run has taken. */
export const Usage = objectOf('Usage', 'The tokens that a run has taken, in all and by model.', {
  models: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: objectOf('ModelUsage', 'The tokens of one model.', {
      ...tokens,
      finish_reasons: Type.Optional(
        Type.Unsafe<Record<string, number>>({
          type: 'object',
          properties: Object.fromEntries(finishReasons.map((reason) => [reason, count(endedBy[reason])])),
          description: 'How many of its answers ended for which reason; absent where none was reported',
        }),
      ),
    }),
    description: 'The tokens of each model, by its name',
  }),
  ...tokens,
});
