import { randomUuid } from '@agent-workflow/kit/uuid';
import { signal } from '@preact/signals';

/** The views of the page, in the order of its navigation. */
const views = [
  ...([
    'chat',
    'inbox',
    'runs',
    'threads',
    'shared',
    'memory',
    'files',
    'agents',
    'schedules',
    'webhooks',
    'operators',
  ] as const),
] as const;
export type View = (typeof views)[number];

/** What the address names: a view, the thing that is open in it, and its options. */
interface Route {
  readonly view: View;
  readonly id?: string;
  /** The name of a page that does not exist. */
  readonly unknown?: string;
  readonly query: Readonly<Record<string, string>>;
}

/** `#/runs/abc?tab=graph` → the view `runs` of the run `abc`. An empty address is the chat. */
function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [name, id] = path.split('/', 2);
  const view = views.find((known) => known === name) ?? 'chat';
  const opened = id === undefined || id === '' ? undefined : decode(id);
  const unknown = name !== undefined && name !== '' && name !== view ? decode(name) : undefined;
  const query = Object.fromEntries(new URLSearchParams(search));
  return { view, query, ...(unknown !== undefined && { unknown }), ...(opened !== undefined && { id: opened }) };
}

/** The address of a route, from the `#` on. */
export function toHash({ view, id, query = {} }: Partial<Route> & Pick<Route, 'view'>): string {
  const search = new URLSearchParams(query).toString();
  return `#/${view}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${search && `?${search}`}`;
}

/** An address that somebody typed may hold a `%` that encodes nothing. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The route of the address bar. It follows links, the back button and `go`. */
export const route = signal<Route>(parseRoute(''));

/** Begins to follow the address bar. */
export function followAddress(): void {
  const read = (): void => {
    route.value = parseRoute(location.hash);
  };
  addEventListener('hashchange', read);
  read();
}

/** Whether the address bar shows this view of this thing. It is right at once, while `route` follows a moment later. */
export function isOpen({ view, id }: { readonly view: View; readonly id: string | undefined }): boolean {
  const now = parseRoute(location.hash);
  return now.view === view && now.id === id && now.unknown === undefined;
}

/** The mark of the open entry of the tab's history, if it has one. It identifies the entry when the reader comes back to it. */
export const readMark = (): string | undefined => {
  const mark: unknown = history.state;
  return typeof mark === 'string' ? mark : undefined;
};

/** The mark of the open entry; one without a mark gets one. */
export function markEntry(): string {
  const mark = readMark() ?? randomUuid();
  history.replaceState(mark, '');
  return mark;
}

/** Opens a route; `replace` leaves the one before out of the history. */
export function go(to: Partial<Route> & Pick<Route, 'view'>, { replace = false } = {}): void {
  if (replace) {
    history.replaceState(null, '', toHash(to));
    route.value = parseRoute(location.hash);
  } else location.hash = toHash(to);
}
