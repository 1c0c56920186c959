import { AIMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { user, walk } from '@agent-workflow/graph/testing';
import test from 'ava';
import { fromLangGraph } from './from-lang-graph.ts';

/** A model whose answers say how many tokens they took. */
class Counting extends FakeListChatModel {
  override async _generate(
    ...given: Parameters<FakeListChatModel['_generate']>
  ): ReturnType<FakeListChatModel['_generate']> {
    const { generations } = await super._generate(...given);
    const message = new AIMessage({
      content: generations[0]?.text ?? '',
      response_metadata: { model_name: 'small-1' },
    });
    Object.assign(message, { usage_metadata: { input_tokens: 7, output_tokens: 3, total_tokens: 10 } });
    return { generations: [{ text: message.text, message }] };
  }
  // Without it the answer would come in chunks, which say nothing of tokens.
  override async *_streamResponseChunks(): AsyncGenerator<never> {
    await Promise.resolve();
    throw new Error('it does not stream');
  }
}

const agentOf = (model: FakeListChatModel): ReturnType<typeof fromLangGraph> =>
  fromLangGraph(
    new StateGraph(MessagesAnnotation)
      .addNode('agent', async ({ messages }) => ({
        messages: [await model.invoke(messages), await model.invoke(messages)],
      }))
      .addEdge(START, 'agent')
      .compile(),
  );

test('the tokens that models take are those of the run', async (t) => {
  const model = new Counting({ responses: ['one', 'two'] });
  Object.assign(model, { disableStreaming: true });
  const { usage } = await walk(agentOf(model), { context: [user('Hello')] });
  t.deepEqual(usage, [{ model: 'small-1', inputTokens: 14, outputTokens: 6 }]);
});

test('a model that counts no tokens reports none', async (t) => {
  const { usage } = await walk(agentOf(new FakeListChatModel({ responses: ['one', 'two'] })), {
    context: [user('Hello')],
  });
  t.deepEqual(usage, []);
});
