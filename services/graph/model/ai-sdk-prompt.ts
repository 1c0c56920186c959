import { isCall, type Block, type CallBlock, type Message } from '@agent-workflow/protos/message';
import type { CallOptions, PromptMessage } from './ai-sdk-model.ts';
import type { ModelQuestion } from './model.ts';
import { resultsBehindCalls, settledCalls, toModelText, toResultText } from './settled-calls.ts';

/** A question as a language model of the AI SDK takes it. */
export function toCallOptions(question: ModelQuestion): Omit<CallOptions, 'abortSignal'> {
  const { tools, schema } = question;
  return {
    prompt: toPrompt(question),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        ...{ type: 'function', name, description, inputSchema: parameters },
      })),
    }),
    ...(schema && { responseFormat: { type: 'json', name: 'answer', schema } }),
  };
}

function toPrompt({ instructions, messages }: ModelQuestion): PromptMessage[] {
  const settled = settledCalls(messages);
  const system: PromptMessage[] = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  return [...system, ...resultsBehindCalls(messages).flatMap((message) => toPromptMessage(message, settled))];
}

function toPromptMessage({ role, content }: Message, settled: ReadonlyMap<unknown, CallBlock>): PromptMessage[] {
  const text = toModelText(content);
  switch (role) {
    case 'system':
      return [{ role, content: text }];
    case 'user':
      return [{ role, content: [{ type: 'text', text }] }];
    case 'assistant': {
      const texts = text === '' ? [] : [{ type: 'text', text } as const];
      const calls = content.filter(isCall).filter(({ id }) => settled.has(id));
      const parts = [...texts, ...calls.map(toCallPart)];
      return parts.length === 0 ? [] : [{ role, content: parts }];
    }
    case 'tool': {
      const results = content.flatMap((block) => toResultParts(block, settled.get(block['call_id'])));
      return results.length === 0 ? [] : [{ role, content: results }];
    }
  }
}

type PartsOf<R extends PromptMessage['role']> = Extract<PromptMessage, { role: R }>['content'];

const toCallPart = ({ id, name, args }: CallBlock): PartsOf<'assistant'>[number] => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: name,
  input: args,
});

function toResultParts(block: Block, call: CallBlock | undefined): PartsOf<'tool'> {
  if (!call) return [];
  const { id: toolCallId, name: toolName } = call;
  const type = block['is_error'] === true ? 'error-text' : 'text';
  return [{ type: 'tool-result', toolCallId, toolName, output: { type, value: toResultText(block) } }];
}
