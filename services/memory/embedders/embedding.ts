import { invalid, isServiceError, type ErrorDetail, type ServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Embedder } from '../ports/port.ts';
import { toUnit } from '../search/rank.ts';

/** Texts to embed, and the place of the request's field that they come from. */
export interface Embedding {
  readonly texts: readonly string[];
  readonly field: ErrorDetail['field'];
}

/**
 * The vectors of texts, in order, each of unit length.
 * @throws Invalid at `field` when the embedder gives no vector for one of them that can be compared with others.
 */
export async function embedTexts(
  embedder: Embedder,
  { texts, field }: Embedding,
  call: Call,
): Promise<readonly Float32Array[]> {
  const vectors = await embedder.embed(texts, call).catch((error: unknown) => {
    throw isServiceError(error, 'Invalid') ? invalid(field, error.details[0]?.msg ?? noVector) : error;
  });
  return texts.map((_, place) => {
    const vector = vectors[place];
    const fault = vector ? faultOf(vector, embedder.dimension) : noVector;
    if (!vector || fault !== undefined) throw invalid(field, fault ?? noVector);
    return toUnit(vector);
  });
}

/** What an embedder says of a text that it has no vector for; whoever asks for its vector knows where the text comes from. */
export const unembedded = (fault: string): ServiceError => invalid(['text'], fault);

/** Why these numbers are no vector of `dimension`, in words for whoever sent the text; `undefined` when they are one. */
export function faultOf(numbers: ArrayLike<unknown>, dimension: number): string | undefined {
  if (numbers.length !== dimension)
    return `the embedder gave ${String(numbers.length)} numbers where ${String(dimension)} are expected`;
  const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(Math.fround(value));
  return Array.from(numbers).every(isNumber) ? undefined : notNumbers;
}

export const notNumbers = 'the embedder gave something that is no number';

const noVector = 'the embedder gave no numbers';
