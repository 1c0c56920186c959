import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import { runOptionsBytes, sizes } from '@agent-workflow/kit/sizes';
import type { AcceptRunRequest, CommitStepRequest, MessageEntry } from '@agent-workflow/protos/threads';

type Field = ErrorDetail['field'];

/** @throws Invalid naming the field, its size and the bound. */
export function refuseOver(bytes: number, bound: number, at: Field): void {
  if (bytes > bound) throw invalid(at, `has ${String(bytes)} bytes, more than ${String(bound)}`, 'too_large');
}

function refuseMany(count: number, bound: number, at: Field): void {
  if (count > bound) throw invalid(at, `has ${String(count)} entries, more than ${String(bound)}`, 'too_long');
}

/** The fields that one request changes. @throws Invalid naming their number and the bound. */
export const refuseManyFields = (fields: Readonly<Record<string, unknown>>, at: Field): void =>
  refuseMany(Object.keys(fields).length, sizes.stepFields, at);

export const refuseMetadata = (json: Uint8Array | undefined, at: Field): void =>
  refuseOver(json?.byteLength ?? 0, sizes.metadata, at);

/** The messages of one request: their number, each, and all together with their ids. */
export function refuseMessages(messages: readonly MessageEntry[], at: Field): void {
  refuseMany(messages.length, sizes.stepMessages, at);
  let bytes = 0;
  for (const [index, { messageId, json }] of messages.entries()) {
    refuseOver(json.byteLength, sizes.message, [...at, index]);
    bytes += Buffer.byteLength(messageId) + json.byteLength;
  }
  refuseOver(bytes, sizes.input, at);
}

/** JSON of a text has two quotes around it. */
const quotes = 2;

export function refuseSummary(fields: Readonly<Record<string, Uint8Array>>, at: Field): void {
  const summary = Object.hasOwn(fields, 'context_summary') ? fields['context_summary'] : undefined;
  refuseOver(summary?.byteLength ?? 0, sizes.summary + quotes, at);
}

/** What the record keeps of a run from its acceptance on. */
export function refuseAcceptance({ messages, metadataJson, optionsJson }: AcceptRunRequest): void {
  refuseMessages(messages, ['messages']);
  refuseMetadata(metadataJson, ['config', 'metadata']);
  refuseOver(optionsJson.byteLength, runOptionsBytes, []);
}

/** What a step leaves in the head of its thread. Its worker has held itself to the same bounds. */
export function refuseStep({
  fields,
  messages,
  progressJson,
  openCalls,
  openInterrupts,
  next,
  end,
  usageJson,
}: CommitStepRequest): void {
  refuseManyFields(fields, ['fields']);
  refuseMessages(messages, ['messages']);
  refuseSummary(fields, ['fields', 'context_summary']);
  refuseOver(progressJson?.byteLength ?? 0, sizes.progress, ['progress']);
  refuseOver(Buffer.byteLength(end?.interruptsJson ?? ''), sizes.progress, ['interrupts']);
  refuseOver(bytesOf(openCalls.flatMap(({ callId, name }) => [callId, name])), sizes.waiting, ['openCalls']);
  refuseOver(bytesOf(openInterrupts), sizes.waiting, ['openInterrupts']);
  refuseOver(bytesOf(next), sizes.waiting, ['next']);
  refuseOver(Buffer.byteLength(usageJson ?? ''), sizes.usage, ['usage']);
}

const bytesOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
