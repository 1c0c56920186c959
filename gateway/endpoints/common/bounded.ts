import type { ServiceError } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { invalidAt, type Loc } from '../../http/fields.ts';
import { jsonBytes } from '../../http/json.ts';

/** A value of a request as JSON bytes. @throws Invalid naming the field when they are more than its bound. */
export function boundedBytes(value: unknown, loc: Loc, bound: number): Uint8Array {
  const json = jsonBytes(value);
  if (json.length > bound) throw tooLarge(loc, bound);
  return json;
}

/** The metadata of a thread or of a checkpoint. */
export const metadataBytes = (metadata: Readonly<Record<string, unknown>>, loc: Loc): Uint8Array =>
  boundedBytes(metadata, loc, sizes.metadata);

export const tooLarge = (loc: Loc, bound: number): ServiceError =>
  invalidAt(loc, `is larger than ${String(bound)} bytes`, 'too_large');
