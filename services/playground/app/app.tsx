import { followAddress, route, toHash, views, type View } from '../session/route.ts';
import { isReachable, signInReason, token } from '../session/session.ts';
import { RawOnFault } from '../ui/raw-on-fault.tsx';
import { AgentsView } from '../views/agents/agents-view.tsx';
import { ChatView } from '../views/chat/chat-view.tsx';
import { MemoryView } from '../views/memory/memory-view.tsx';
import { RunsView } from '../views/runs/runs-view.tsx';
import { ThreadsView } from '../views/threads/threads-view.tsx';
import { NoPage } from './no-page.tsx';
import { SignIn } from './sign-in.tsx';

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
export function App() {
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
