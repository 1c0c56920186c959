import './styles/index.css';
import { render } from 'preact';
import { followAddress, route, toHash, views, type View } from './session/route.ts';
import { isReachable, signInReason, token, signIn } from './session/session.ts';
import { RawOnFault } from './ui/raw-on-fault.tsx';
import { AgentsView } from './views/agents/agents-view.tsx';
import { ChatView } from './views/chat/chat-view.tsx';
import { MemoryView } from './views/memory/memory-view.tsx';
import { ThreadsView } from './views/threads/threads-view.tsx';
import { useTitle } from './ui/title.ts';
import { useState } from 'preact/hooks';
import { Modal } from './ui/modal.tsx';
import { RunList } from './views/runs/run-list.tsx';
import { RunPage } from './views/runs/run-page.tsx';

followAddress();

const titles: Readonly<Record<View, string>> = {
  chat: 'Chat',
  threads: 'Threads',
  runs: 'Runs',
  memory: 'Memory',
  agents: 'Agents',
};
const contents: Readonly<Record<View, () => preact.JSX.Element>> = {
  chat: ChatView,
  threads: ThreadsView,
  runs: RunsView,
  memory: MemoryView,
  agents: AgentsView,
};

/** The whole page: its navigation, the view that the address names, and the dialog that asks for a token. */
function App() {
  const { view, unknown } = route.value;
  const Content = contents[view];
  return (
    <>
      <header>
        <a class="skip" href={toHash(route.value)} onClick={focusMain}>
          Skip to the content
        </a>
        <strong>Playground</strong>
        <nav aria-label="Views">
          {views.map((each) => (
            <a
              key={each}
              href={toHash({ view: each })}
              aria-current={each === view && unknown === undefined ? 'page' : undefined}
            >
              {titles[each]}
            </a>
          ))}
          <a href="/docs">Docs</a>
        </nav>
        {token.value !== '' && (
          <button
            type="button"
            aria-label="Change token"
            onClick={() => {
              signInReason.value = 'wanted';
            }}
          >
            Token
          </button>
        )}
      </header>
      <p class="connection" role="status">
        {isReachable.value ? '' : 'The connection is lost. Trying again …'}
      </p>
      <main id="content" tabIndex={-1} aria-label={unknown === undefined ? titles[view] : 'No such page'}>
        <RawOnFault key={view}>{unknown === undefined ? <Content /> : <NoPage name={unknown} />}</RawOnFault>
      </main>
      {signInReason.value && <SignIn reason={signInReason.value} />}
    </>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

/** Says that the address names no page, so that a link that is out of date is not taken for a new chat. */
function NoPage({ name }: { readonly name: string }) {
  useTitle('No such page');
  return (
    <div class="stack">
      <h1>No such page</h1>
      <p class="note note-error" role="alert">
        There is no page “{name}”.
      </p>
      <p>
        <a href={toHash({ view: 'chat' })}>Begin a new chat</a>
      </p>
    </div>
  );
}

/** Asks for the bearer token that the service wants, and keeps it for this tab. A reader who asked for it may leave, or sign out. */
function SignIn({ reason }: { readonly reason: 'refused' | 'wanted' }) {
  const [given, setGiven] = useState('');
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    signIn(given);
  };
  const close = (): void => {
    signInReason.value = undefined;
  };
  return (
    <Modal title="Sign in" {...(reason === 'wanted' && { onClose: close })}>
      <p>{sentenceOf(reason)}</p>
      <form class="stack" onSubmit={onSubmit}>
        <label>
          Bearer token
          <input
            type="password"
            autocomplete="off"
            required
            value={given}
            onInput={(event) => setGiven(event.currentTarget.value)}
          />
        </label>
        <p class="hint">It stays in this tab and goes with it.</p>
        <div class="row">
          <button type="submit">Sign in</button>
          {reason === 'wanted' && (
            <>
              <button type="button" onClick={() => signIn('')}>
                Sign out
              </button>
              <button type="button" onClick={close}>
                Cancel
              </button>
            </>
          )}
        </div>
      </form>
    </Modal>
  );
}

function sentenceOf(reason: 'refused' | 'wanted'): string {
  if (reason === 'wanted') return 'Another token takes the place of the one of this tab.';
  return token.value === ''
    ? 'The service asks for a bearer token.'
    : 'The service has refused the token of this tab: it is wrong, or its time is over.';
}

/** All runs of the reader, or the one that the address names. */
function RunsView() {
  const { id } = route.value;
  return <RawOnFault key={id}>{id === undefined ? <RunList /> : <RunPage id={id} />}</RawOnFault>;
}

const root = document.getElementById('app');
if (root) render(<App />, root);
