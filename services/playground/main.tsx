import './styles/index.css';
import { render, type ComponentType } from 'preact';
import { followKeys, useKeys } from './session/keys.ts';
import { followMe } from './session/me.ts';
import { readReturn } from './session/returned.ts';
import { followAddress, go, route, type View } from './session/route.ts';
import { isReachable, signInReason } from './session/session.ts';
import { followTheme } from './session/theme.ts';
import { Deferred } from './shell/deferred.tsx';
import { isKeyTableOpen, isPaletteOpen } from './shell/dialogs.ts';
import { NoPage } from './shell/no-page.tsx';
import { places, titleOf } from './shell/places.ts';
import { Rail } from './shell/rail.tsx';
import { SignIn } from './shell/sign-in.tsx';
import { RawOnFault } from './ui/patterns/raw-on-fault.tsx';
import { Toasts } from './ui/toasts.tsx';
import { ChatView } from './views/chat/chat-view.tsx';

/** The first view comes with the page; each other, and each dialog of the shell, when it is first wanted. */
const others: Readonly<Record<Exclude<View, 'chat'>, () => Promise<ComponentType>>> = {
  inbox: async () => (await import('./views/inbox/inbox-view.tsx')).InboxView,
  threads: async () => (await import('./views/threads/threads-view.tsx')).ThreadsView,
  runs: async () => (await import('./views/runs/runs-view.tsx')).RunsView,
  shared: async () => (await import('./views/shared/shared-view.tsx')).SharedView,
  memory: async () => (await import('./views/memory/memory-view.tsx')).MemoryView,
  schedules: async () => (await import('./views/schedules/schedules-view.tsx')).SchedulesView,
  webhooks: async () => (await import('./views/webhooks/webhooks-view.tsx')).WebhooksView,
  operators: async () => (await import('./views/operators/operators-view.tsx')).OperatorsView,
  files: async () => (await import('./views/files/files-view.tsx')).FilesView,
  agents: async () => (await import('./views/agents/agents-view.tsx')).AgentsView,
};
const loadPalette = async (): Promise<ComponentType> => (await import('./shell/palette.tsx')).Palette;
const loadKeyTable = async (): Promise<ComponentType> => (await import('./shell/key-table.tsx')).KeyTable;

/** The whole page: its navigation, the view that the address names, and the dialogs of the shell. */
function App() {
  const { view, unknown } = route.value;
  useKeys([
    ...[
      { keys: 'mod+k', text: 'Find or do', run: () => void (isPaletteOpen.value = !isPaletteOpen.peek()) },
      { keys: '?', text: 'List the keys', isAction: true, run: () => void (isKeyTableOpen.value = true) },
      { keys: 'c', text: 'New chat', isAction: true, run: () => go({ view: 'chat' }) },
    ].map((each) => ({ ...each, group: 'Everywhere' })),
    ...places().map(({ view: to, title, key }) => ({
      ...{ keys: `g ${key}`, text: title, group: 'Go to' },
      run: () => go({ view: to }),
    })),
  ]);
  return (
    <>
      <Rail />
      <p class="connection" role="status">
        {isReachable.value ? '' : 'The connection is lost. Trying again …'}
      </p>
      <main id="content" tabIndex={-1} aria-label={unknown === undefined ? titleOf(view) : 'No such page'}>
        <RawOnFault key={view}>
          {unknown === undefined ? <Content view={view} /> : <NoPage name={unknown} />}
        </RawOnFault>
      </main>
      <Toasts />
      {isPaletteOpen.value && <Deferred load={loadPalette} />}
      {isKeyTableOpen.value && <Deferred load={loadKeyTable} />}
      {signInReason.value && <SignIn reason={signInReason.value} />}
    </>
  );
}

const Content = ({ view }: { readonly view: View }) =>
  view === 'chat' ? <ChatView /> : <Deferred key={view} load={others[view]} />;

// Not awaited here: what ends a sign-in imports parts of this file's own chunk, which would wait for it.
void readReturn().then(() => {
  followAddress();
  followKeys();
  followTheme();
  followMe();
  const root = document.getElementById('app');
  if (root) render(<App />, root);
});
