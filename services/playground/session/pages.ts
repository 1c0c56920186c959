import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { readOn, type LoadPage } from './read-on.ts';
import { token } from './session.ts';

/** What is read of a list so far. */
export interface Pages<T> {
  readonly items: readonly T[];
  readonly cursor?: string | undefined;
  readonly error?: unknown;
  /** Whether it was the first page that could not be read. */
  readonly hasFailedFirst?: boolean;
  readonly isLoading: boolean;
}

export interface PagedList<T> {
  readonly state: ReadonlySignal<Pages<T>>;
  readonly more: () => void;
  readonly again: () => void;
  /** Changes what is shown without asking again, when what the service holds is known. */
  readonly edit: (change: (items: readonly T[]) => readonly T[]) => void;
}

/**
 * Reads a list page by page: the first when the component appears, when one of `inputs` changes, when somebody signs in, and when
 * `again` is called; the next at each `more`. The items of before stay until the new ones are loaded; where those cannot be, the items of
 * other inputs go: they would be a wrong answer. What is `kept` of the list from before the component appeared is shown as it is, and not
 * read at first.
 */
export function usePages<T>(load: LoadPage<T>, inputs: readonly unknown[], kept?: Pages<T>): PagedList<T> {
  const state = useSignal<Pages<T>>(kept ?? { items: [], isLoading: true });
  const isKept = useRef(kept !== undefined);
  const turn = useSignal(0);
  const latest = useRef(load);
  latest.current = load;
  const lifetime = useRef<AbortController | undefined>(undefined);
  const asked = [...inputs, token.value];
  const shownFor = useRef(kept && asked);
  const read = (cursor: string | undefined, { signal }: AbortController): void => {
    state.value = { ...state.peek(), error: undefined, hasFailedFirst: false, isLoading: true };
    readOn(latest.current, cursor, signal).then(
      (page) => {
        if (signal.aborted) return;
        const before = cursor === undefined ? [] : state.peek().items;
        shownFor.current = asked;
        state.value = { items: [...before, ...page.items], cursor: page.cursor, isLoading: false };
      },
      (error: unknown) => {
        if (signal.aborted) return;
        const { items, cursor: next } = state.peek();
        const left = isSame(shownFor.current, asked) ? { items, cursor: next } : { items: [] };
        state.value = { ...left, error, hasFailedFirst: cursor === undefined, isLoading: false };
      },
    );
  };
  useEffect(() => {
    const controller = new AbortController();
    lifetime.current = controller;
    if (isKept.current) isKept.current = false;
    else read(undefined, controller);
    return () => controller.abort();
  }, [...asked, turn.value]);
  const more = (): void => {
    const { cursor, isLoading } = state.peek();
    if (cursor !== undefined && !isLoading && lifetime.current) read(cursor, lifetime.current);
  };
  const again = (): void => {
    turn.value++;
  };
  const edit: PagedList<T>['edit'] = (change) => {
    state.value = { ...state.peek(), items: change(state.peek().items) };
  };
  return { state, more, again, edit };
}

const isSame = (some: readonly unknown[] | undefined, others: readonly unknown[]): boolean =>
  some?.length === others.length && some.every((each, at) => Object.is(each, others[at]));
