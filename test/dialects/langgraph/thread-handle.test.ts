import type { BaseMessage } from '@langchain/core/messages';
import test from 'ava';
import { graphId, serveLangGraph } from './service.ts';

const service = serveLangGraph(test);
const input = { messages: [{ role: 'user', content: 'hello' }] };

for (const transport of ['sse', 'websocket'] as const)
  for (const from of ['before', 'after'] as const)
    test(`the messages and the output of a run that is quick are read by ${transport}, from ${from} its start on`, async (t) => {
      for (let times = 0; times < 3; times++) {
        const thread = service.client().threads.stream({ assistantId: graphId, transport });
        const readAll = async (): Promise<string[]> => {
          const texts: string[] = [];
          for await (const { text } of thread.messages) {
            let whole = '';
            for await (const part of text) whole += part;
            texts.push(whole);
          }
          return texts;
        };
        const early = from === 'before' ? readAll() : undefined;
        await thread.run.start({ input });
        const [texts, output] = await Promise.all([early ?? readAll(), thread.output]);
        t.deepEqual(texts, ['pale blue sky over hills']);
        const { messages } = output as { readonly messages: readonly BaseMessage[] };
        t.deepEqual(
          messages.map(({ content }) => content),
          ['hello', 'pale blue sky over hills'],
        );
        await thread.close();
      }
    });
