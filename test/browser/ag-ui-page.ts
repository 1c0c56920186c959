import { AssistantRuntimeProvider, type ThreadMessage, type Tool } from '@assistant-ui/react';
import {
  useAgUiInterrupts,
  useAgUiRuntime,
  useAgUiSubmitInterruptResponses,
  type AgUiAssistantRuntime,
  type UseAgUiRuntimeOptions,
} from '@assistant-ui/react-ag-ui';
import { ResumingAgent } from '@agent-workflow/client/ag-ui';
import { createElement, useEffect, useState, type ReactElement } from 'react';
import { createRoot } from 'react-dom/client';

/** What a test asks of the page. */
export interface AguiPageActions {
  readonly send: (text: string) => void;
  readonly answer: (payload: string) => Promise<void>;
}

const query = new URLSearchParams(location.search);
const agent = new ResumingAgent({ url: query.get('agent') ?? '', threadId: query.get('thread') ?? '' });

/** A tool of the page. */
const camera: Tool<{ readonly at: string }, string> = {
  type: 'frontend',
  description: 'Looks out of the window of the page',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
  execute: ({ at }) => Promise.resolve(`a cat at ${at}`),
};

/** The texts, calls and results of a message, in order. */
const partsOf = ({ content }: ThreadMessage): string =>
  content
    .map((part) => {
      if (part.type === 'text') return part.text;
      return part.type === 'tool-call' ? `[${part.toolName} ${JSON.stringify(part.result)}]` : '';
    })
    .join('');

function Thread({ runtime }: { readonly runtime: AgUiAssistantRuntime }): ReactElement {
  const interrupts = useAgUiInterrupts();
  const submit = useAgUiSubmitInterruptResponses();
  const [, setCount] = useState(0);
  useEffect(() => runtime.thread.subscribe(() => setCount((count) => count + 1)), [runtime]);
  useEffect(
    () => runtime.registerModelContextProvider({ getModelContext: () => ({ tools: { look: camera } }) }),
    [runtime],
  );
  const actions: AguiPageActions = {
    send: (text) => runtime.thread.append(text),
    answer: (payload) =>
      submit(interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved' as const, payload }))),
  };
  Object.assign(globalThis, { actions });
  const { messages, isRunning } = runtime.thread.getState();
  const items = messages.map((message) =>
    createElement('li', { key: message.id, 'data-role': message.role }, partsOf(message)),
  );
  return createElement(
    'main',
    null,
    createElement('ol', null, ...items),
    createElement('p', { id: 'running' }, String(isRunning)),
    createElement('p', { id: 'question' }, interrupts.map(({ message }) => message ?? '').join()),
  );
}

function App(): ReactElement {
  const runtime = useAgUiRuntime({ agent: agent as unknown as UseAgUiRuntimeOptions['agent'] });
  return createElement(AssistantRuntimeProvider, { runtime }, createElement(Thread, { runtime }));
}

createRoot(document.body).render(createElement(App));
