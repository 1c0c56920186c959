import { useStream } from '@langchain/react';
import type { Client, Message } from '@langchain/langgraph-sdk';
import { useStream as useEarlierStream } from '@langchain/langgraph-sdk/react';
import { createElement, useState, type ReactElement } from 'react';
import { createRoot } from 'react-dom/client';

/** What a test asks of the page. */
export interface PageActions {
  readonly submit: (text: string, options?: object) => Promise<void>;
  readonly respond: (answer: unknown) => Promise<void>;
  readonly search: () => Promise<readonly string[]>;
  /** The checkpoint before a message, which a branch of it begins at. */
  readonly before: (text: string) => Promise<string | undefined>;
}

const query = new URLSearchParams(location.search);
const apiUrl = query.get('api') ?? '';
const assistantId = query.get('assistant') ?? '';

/** The thread stands in the address: a page that is loaded again goes on with it. */
function useThread(): { readonly threadId: string | null; readonly onThreadId: (id: string) => void } {
  const [threadId, setThreadId] = useState(location.hash === '' ? null : location.hash.slice(1));
  const onThreadId = (id: string): void => {
    history.replaceState(null, '', `#${id}`);
    setThreadId(id);
  };
  return { threadId, onThreadId };
}

const offer = (actions: PageActions): void => void Object.assign(globalThis, { actions });

const inputOf = (text: string) => ({ messages: [{ type: 'human' as const, content: text }] });

interface Shown {
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly question: unknown;
  readonly items: readonly ReactElement[];
}

const show = ({ isLoading, error, question, items }: Shown): ReactElement =>
  createElement(
    'main',
    null,
    createElement('ol', null, ...items),
    createElement('p', { id: 'loading' }, String(isLoading)),
    createElement(
      'p',
      { id: 'error' },
      error === undefined || error === null ? '' : error instanceof Error ? error.message : JSON.stringify(error),
    ),
    createElement('p', { id: 'question' }, question === undefined ? '' : JSON.stringify(question)),
  );

/** What both hooks offer beside their own. */
const reading = (client: Client, threadId: string | null): Pick<PageActions, 'search' | 'before'> => ({
  search: async () => (await client.threads.search()).map(({ thread_id: id }) => id),
  before: async (text) => {
    const states = await client.threads.getHistory<{ messages?: readonly Message[] }>(threadId ?? '', { limit: 100 });
    const state = states.find(({ values: { messages = [] } }) => !messages.some(({ content }) => content === text));
    return state?.checkpoint.checkpoint_id ?? undefined;
  },
});

/** The hook of the streaming protocol, version 2. */
function Current(): ReactElement {
  const thread = useThread();
  const stream = useStream({ apiUrl, assistantId, ...thread });
  offer({
    submit: (text, options) => stream.submit(inputOf(text), options),
    respond: (answer) => stream.respond(answer),
    ...reading(stream.client as unknown as Client, thread.threadId),
  });
  const { isLoading, error, interrupt, messages } = stream;
  const items = messages.map(({ id, type, text }, index) =>
    createElement('li', { key: id ?? index, 'data-type': type }, text),
  );
  return show({ isLoading, error, question: interrupt?.value, items });
}

/** The hook of the first protocol, which agent-chat-ui uses. */
function Earlier(): ReactElement {
  const thread = useThread();
  const stream = useEarlierStream<{ messages: Message[] }>({
    ...{ apiUrl, assistantId, ...thread },
    ...{ fetchStateHistory: { limit: 100 }, reconnectOnMount: true },
  });
  const { messages } = stream;
  offer({
    submit: (text, options) =>
      stream.submit(inputOf(text), {
        ...{ streamMode: ['values'], streamSubgraphs: true, streamResumable: true },
        optimisticValues: (before: { readonly messages?: Message[] }) => ({
          ...before,
          messages: [...(before.messages ?? []), ...inputOf(text).messages],
        }),
        ...options,
      }),
    respond: (answer) => stream.submit(undefined, { command: { resume: answer } }),
    ...reading(stream.client, thread.threadId),
    before: async (text) => {
      const message = messages.find(({ content }) => content === text);
      const seen = message && stream.getMessagesMetadata(message)?.firstSeenState;
      return seen?.parent_checkpoint?.checkpoint_id ?? undefined;
    },
  });
  const { isLoading, error, interrupt } = stream;
  const items = messages.map(({ content, type, id }, index) =>
    createElement(
      'li',
      { key: id ?? index, 'data-type': type },
      typeof content === 'string' ? content : JSON.stringify(content),
    ),
  );
  return show({ isLoading, error, question: interrupt?.value, items });
}

const root = document.createElement('div');
document.body.append(root);
createRoot(root).render(createElement(query.has('earlier') ? Earlier : Current));
