import { invalid, isServiceError, type ErrorDetail, type ServiceError } from '@agent-workflow/kit/errors';
import type { Call } from '@agent-workflow/protos/call';
import type { Embedder } from '../ports/embedder.ts';
import { toUnit } from '../vectors/unit.ts';

/** Texts to embed, and the field of the request that holds them. */
interface FieldTexts {
  readonly texts: readonly string[];
  readonly field: ErrorDetail['field'];
}

/**
 * The vectors of texts, in order, each of unit length.
 * @throws Invalid at `field` when the embedder gives no vector for one of them that can be compared with others.
 */
export async function embedTexts(
  embedder: Embedder,
  { texts, field }: FieldTexts,
  call: Call,
): Promise<readonly Float32Array[]> {
  const vectors = await embedder.embed(texts, call).catch((error: unknown) => {
    throw isServiceError(error, 'Invalid') ? invalid(field, error.details[0]?.msg ?? noVector) : error;
  });
  return texts.map((_, index) => {
    const vector = vectors[index];
    const fault = vector ? faultOf(vector, embedder.dimension) : noVector;
    if (!vector || fault !== undefined) throw invalid(field, fault ?? noVector);
    return toUnit(vector);
  });
}

/** The error of an embedder that has no vector for a text. Its caller replaces the field, because it knows where the text is from. */
export const unembedded = (fault: string): ServiceError => invalid(['text'], fault);

/** The cause of a failure of which the embedder does not say whether one of the texts is to blame. */
export const perhapsOneText = new Error('it may be one of the texts that the embedder cannot take');

/** Whether the texts of a request that failed so are to be sent in smaller ones. */
export const isPerhapsOneText = (error: unknown): boolean =>
  isServiceError(error, 'Invalid') || (isServiceError(error) && error.cause === perhapsOneText);

/** Why these numbers are no vector of `dimension`, in words for the sender of the text; `undefined` when they are one. */
export function faultOf(numbers: ArrayLike<unknown>, dimension: number): string | undefined {
  if (numbers.length !== dimension)
    return `the embedder gave ${String(numbers.length)} numbers where ${String(dimension)} are expected`;
  for (let index = 0; index < dimension; index += 1) {
    const value = numbers[index];
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value))) return notNumbers;
  }
  return undefined;
}

export const notNumbers = 'the embedder gave something that is no number';

const noVector = 'the embedder gave no numbers';
