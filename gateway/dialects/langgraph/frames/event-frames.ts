import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import { jsonObject, jsonText } from '../../../http/json.ts';
import { toLangChain } from '../messages/to-langchain.ts';
import { chunkText } from './chunks.ts';
import type { TextFrame } from './frame.ts';

interface EventFramesOptions {
  readonly runId: string;
  readonly graphId: string;
  readonly metadataOf: (event: RunEvent) => string;
  readonly taskId: (step: number, node: string) => string;
}

/** What `events` of LangChain are: each names what runs, and what that runs in. */
export function createEventFrames({ runId, graphId, metadataOf, taskId }: EventFramesOptions) {
  const frame = (event: string, of: RunEvent, { name, id, parents, data }: Named): TextFrame => ({
    name: 'events',
    data: jsonObject({
      event: JSON.stringify(event),
      data,
      name: JSON.stringify(name),
      tags: '[]',
      run_id: JSON.stringify(id),
      metadata: metadataOf(of),
      parent_ids: JSON.stringify(parents),
    }),
  });
  const run = (data: string): Named => ({ name: graphId, id: runId, parents: [], data });
  const node = ({ step = 0, node: name = '' }: RunEvent, data: string): Named => ({
    ...{ name, id: taskId(step, name), parents: [runId], data },
  });
  const model = ({ step = 0, node: of = '' }: RunEvent, id: string, data: string): Named => ({
    ...{ name: 'model', id, parents: [runId, taskId(step, of)], data },
  });
  /** Messages of which chunks have come. */
  const growing = new Set<string>();

  return {
    begun: (event: RunEvent, values: string): TextFrame => frame('on_chain_start', event, run(`{"input":${values}}`)),
    ended: (event: RunEvent, values: string): TextFrame => frame('on_chain_end', event, run(`{"output":${values}}`)),
    started: (event: RunEvent, values: string): TextFrame =>
      frame('on_chain_start', event, node(event, `{"input":${values}}`)),
    completed: (event: RunEvent, delta: string): TextFrame[] => [
      frame('on_chain_stream', event, node(event, `{"chunk":${delta}}`)),
      frame('on_chain_end', event, node(event, `{"output":${delta}}`)),
    ],
    /** A chunk or the whole of a model's message. What the model was sent is for operators, and not in the events of a run. */
    message: (event: RunEvent): TextFrame[] => {
      const { messageId, role, message } = event;
      if (messageId === undefined || role !== 'assistant') return [];
      if (!message) {
        const json = chunkText({ id: messageId, json: jsonText(event.data), callIndex: 0 });
        const chunk = frame('on_chat_model_stream', event, model(event, messageId, `{"chunk":${json}}`));
        if (growing.has(messageId)) return [chunk];
        growing.add(messageId);
        return [frame('on_chat_model_start', event, model(event, messageId, '{}')), chunk];
      }
      if (!growing.delete(messageId)) return [];
      const [whole] = toLangChain(JSON.parse(jsonText(message)) as Message);
      return [
        frame('on_chat_model_end', event, model(event, messageId, `{"output":${JSON.stringify(whole ?? null)}}`)),
      ];
    },
  };
}

interface Named {
  readonly name: string;
  readonly id: string;
  readonly parents: readonly string[];
  /** JSON. */
  readonly data: string;
}
