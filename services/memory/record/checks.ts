import { invalid, ServiceError, unanswered, type ErrorDetail } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Call } from '@agent-workflow/protos/call';
import { memoryTypes } from '@agent-workflow/protos/lists';
import type { Selection, StoreRequest } from '@agent-workflow/protos/memory';
import { readTime } from '@agent-workflow/protos/message';
import { readObject } from './json.ts';

const maxLimit = 1000;

export function refuseLate({ deadline, signal }: Call): void {
  if (Date.now() >= deadline) throw unanswered('the deadline passed before the work was done');
  if (signal.aborted) throw new ServiceError('Cancelled', 'the caller went away');
}

export function refuseUnfit(content: unknown): void {
  const at = ['content'];
  if (typeof content !== 'string') throw invalid(at, 'must be a text', 'string_type');
  if (content.trim() === '') throw invalid(at, 'must not be empty', 'too_short');
  refuseLarge(content, at);
}

export function refuseLarge(text: string, at: ErrorDetail['field']): void {
  refuseBytes(Buffer.byteLength(text), at);
}

export function refuseLargeMetadata({ byteLength }: Uint8Array): void {
  refuseBytes(byteLength, ['metadata']);
}

function refuseBytes(bytes: number, at: ErrorDetail['field']): void {
  if (bytes <= sizes.memory) return;
  throw invalid(at, `must not be larger than ${String(sizes.memory)} bytes, it has ${String(bytes)}`, 'too_long');
}

const maxCategory = 256;

export function refuseLong(category: string, at: ErrorDetail['field']): void {
  if (category.length > maxCategory) {
    throw invalid(at, `must not be longer than ${String(maxCategory)} characters`, 'too_long');
  }
}

export function readMetadata(json: Uint8Array): Readonly<Record<string, unknown>> {
  refuseLargeMetadata(json);
  return readObject(json, ['metadata']);
}

/** Refuses times that are none of the years 1970 to 9999. */
export function refuseTimes(times: Pick<StoreRequest, 'timestamp' | 'expiresAt'>): void {
  readTime(times.timestamp, ['timestamp']);
  readTime(times.expiresAt, ['expiresAt']);
}

/** The selection. @throws Invalid when its memory type is unknown. */
export function checkedSelection(selection: Selection): Selection {
  if (selection.memoryType !== undefined) oneOf(memoryTypes, selection.memoryType, ['memoryType']);
  return selection;
}

export function oneOf<T extends string>(allowed: readonly T[], given: string, at: ErrorDetail['field']): T {
  const found = allowed.find((value) => value === given);
  if (found === undefined) throw invalid(at, `must be one of ${allowed.join(', ')}`, 'enum');
  return found;
}

export function readCount(given: number, at: ErrorDetail['field'], { min, max } = { min: 1, max: maxLimit }): number {
  if (Number.isInteger(given) && given >= min) return Math.min(given, max);
  throw invalid(at, `must be a whole number of at least ${String(min)}`, 'greater_than_equal');
}

export function readOffset(offset: number): number {
  if (Number.isInteger(offset) && offset >= 0) return offset;
  throw invalid(['offset'], 'must be a whole number, 0 or greater');
}
