import { count, objectOf } from './common.ts';
import { Type } from './builders.ts';

export const tokens = {
  input_tokens: count('Tokens that models read'),
  output_tokens: count('Tokens that models wrote'),
};

/** The tokens that a run has taken. */
export const Usage = objectOf('Usage', 'The tokens that a run has taken, in all and by model.', {
  models: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: objectOf('ModelUsage', 'The tokens of one model.', tokens),
    description: 'The tokens of each model, by its name',
  }),
  ...tokens,
});
