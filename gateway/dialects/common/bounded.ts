import type { ServiceError } from '@agent-workflow/kit/errors';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import { invalidAt, type Loc } from '../../http/fields.ts';
import { jsonBytes } from '../../http/json.ts';

/** A value of a request as JSON bytes. @throws Invalid, which names the field, when they are more than `bound`. */
export function boundedBytes(value: unknown, loc: Loc, bound: number): Uint8Array {
  const json = jsonBytes(value);
  if (json.length > bound) throw tooLarge(loc, json.length, bound);
  return json;
}

/** The metadata of a thread or of a checkpoint as JSON bytes. */
export const metadataBytes = (metadata: Readonly<Record<string, unknown>>, loc: Loc): Uint8Array =>
  boundedBytes(metadata, loc, sizes.metadata);

export const tooLarge = (loc: Loc, bytes: number, bound: number): ServiceError =>
  invalidAt(loc, `has ${bytesOver(bytes, bound)}`, 'too_large');
