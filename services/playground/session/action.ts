import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

/** A request that the reader starts. */
export interface Action<G extends readonly unknown[]> {
  readonly isBusy: ReadonlySignal<boolean>;
  /** Why the latest attempt failed, until the next one. */
  readonly error: ReadonlySignal<unknown>;
  readonly start: (...given: G) => void;
}

/** One attempt at a time; it is aborted when the component unmounts. */
export function useAction<G extends readonly unknown[]>(
  work: (signal: AbortSignal, ...given: G) => Promise<void>,
): Action<G> {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const lifetime = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => lifetime.current?.abort(), []);
  const start = (...given: G): void => {
    if (isBusy.peek()) return;
    const controller = new AbortController();
    lifetime.current = controller;
    isBusy.value = true;
    error.value = undefined;
    work(controller.signal, ...given)
      .catch((thrown: unknown) => {
        if (!controller.signal.aborted) error.value = thrown;
      })
      .finally(() => {
        isBusy.value = false;
      });
  };
  return { isBusy, error, start };
}
