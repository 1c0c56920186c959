import type { RunEvent } from '@agent-workflow/protos/execution';
import { jsonObject, jsonText } from '../../../http/json.ts';
import { chunkText } from './chunks.ts';
import type { Frame } from './frame.ts';

interface EventFramesOptions {
  readonly runId: string;
  readonly graphId: string;
  readonly metadataOf: (event: RunEvent) => string;
  readonly taskId: (step: number, node: string) => string;
}

/** What `events` of LangChain are: each names what runs, and what that runs in. */
export function createEventFrames({ runId, graphId, metadataOf, taskId }: EventFramesOptions) {
  const frame = (event: string, of: RunEvent, { name, id, parents, data }: Named): Frame => ({
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

  return {
    begun: (event: RunEvent, values: string): Frame => frame('on_chain_start', event, run(`{"input":${values}}`)),
    ended: (event: RunEvent, values: string): Frame => frame('on_chain_end', event, run(`{"output":${values}}`)),
    started: (event: RunEvent): Frame => frame('on_chain_start', event, node(event, '{}')),
    completed: (event: RunEvent, delta: string): Frame[] => [
      frame('on_chain_stream', event, node(event, `{"chunk":${delta}}`)),
      frame('on_chain_end', event, node(event, `{"output":${delta}}`)),
    ],
    custom: (event: RunEvent, data: string): Frame =>
      frame('on_custom_event', event, { ...node(event, data), name: 'custom' }),
    chunk: (event: RunEvent): Frame[] => {
      const { messageId, role, message, step = 0, node: name = '' } = event;
      if (message || messageId === undefined || role !== 'assistant') return [];
      const json = chunkText({ id: messageId, json: jsonText(event.data), callIndex: 0 });
      const parents = [runId, taskId(step, name)];
      return [
        frame('on_chat_model_stream', event, { name: 'model', id: messageId, parents, data: `{"chunk":${json}}` }),
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
