import type { ErrorDetail } from '@agent-workflow/kit/errors';
import { bytesOfTexts, jsonQuotes, refuseMany, refuseOver, runOptionsBytes, sizes } from '@agent-workflow/kit/sizes';
import type { AcceptRunRequest, CommitStepRequest, MessageEntry } from '@agent-workflow/protos/threads';

type Field = ErrorDetail['field'];

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

export function refuseSummary(fields: Readonly<Record<string, Uint8Array>>, at: Field): void {
  const summary = Object.hasOwn(fields, 'context_summary') ? fields['context_summary'] : undefined;
  refuseOver(summary?.byteLength ?? 0, sizes.summary + jsonQuotes, at);
}

/** What the record keeps of a run from its acceptance on. */
export function refuseAcceptance(request: AcceptRunRequest): void {
  const { messages, metadataJson, marksJson, optionsJson, webhookJson = '' } = request;
  refuseMessages(messages, ['messages']);
  refuseMetadata(metadataJson, ['config', 'metadata']);
  refuseMetadata(marksJson, ['marks']);
  refuseOver(optionsJson.byteLength, runOptionsBytes, []);
  refuseOver(Buffer.byteLength(webhookJson), sizes.webhookTarget, ['webhook']);
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
  refuseOver(bytesOfTexts(openCalls.flatMap(({ callId, name }) => [callId, name])), sizes.waiting, ['openCalls']);
  refuseOver(bytesOfTexts(openInterrupts), sizes.waiting, ['openInterrupts']);
  refuseOver(bytesOfTexts(next), sizes.waiting, ['next']);
  refuseOver(Buffer.byteLength(usageJson ?? ''), sizes.usage, ['usage']);
}
