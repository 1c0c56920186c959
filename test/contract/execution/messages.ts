import { textOf, type Message } from '@agent-workflow/graph';
import { newId } from '@agent-workflow/kit/ids';
import type { MessageEntry } from '@agent-workflow/protos/threads';

export const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
export const parse = (bytes: Uint8Array | undefined): unknown =>
  JSON.parse(bytes ? Buffer.from(bytes).toString() : 'null');

const entry = (id: string, role: string, content: unknown): MessageEntry => ({
  messageId: id,
  json: json({ message_id: id, role, content, timestamp: '2026-01-01T00:00:00.000Z' }),
});
export const user = (text: string, id = newId()): MessageEntry => entry(id, 'user', [{ type: 'text', text }]);
export const result = (callId: string, output: string): MessageEntry =>
  entry(newId(), 'tool', [{ type: 'tool_result', call_id: callId, output, status: 'completed', is_error: false }]);

export const lastUser = (context: readonly Message[]): string =>
  textOf(context.findLast(({ role }) => role === 'user') ?? { content: [] });
