import { toast } from '../toasts.tsx';

/** Says that something is about to be sent, and resolves with whether it is: for five seconds it can be taken back. */
export function isKept(text: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  toast({ text, undo: () => resolve(false), onGone: () => resolve(true) });
  return promise;
}
