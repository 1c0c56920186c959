import { useEffect, useRef } from 'preact/hooks';
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { token } from './session.ts';

/** What a view reads from the service. */
interface Loaded<T> {
  readonly value?: T;
  readonly error?: unknown;
  readonly isLoading: boolean;
}

/**
 * Reads something when the component appears, when one of `inputs` changes, when somebody signs in, and when `again` is called.
 * What was read before stays until its successor is there; a reading that is overtaken is aborted.
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): { readonly state: ReadonlySignal<Loaded<T>>; readonly again: () => void } {
  const state = useSignal<Loaded<T>>({ isLoading: true });
  const turn = useSignal(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const controller = new AbortController();
    state.value = { ...state.peek(), isLoading: true };
    latest.current(controller.signal).then(
      (value) => {
        if (!controller.signal.aborted) state.value = { value, isLoading: false };
      },
      (error: unknown) => {
        if (!controller.signal.aborted) state.value = { ...state.peek(), error, isLoading: false };
      },
    );
    return () => controller.abort();
  }, [...inputs, token.value, turn.value]);
  const again = (): void => {
    turn.value++;
  };
  return { state, again };
}
