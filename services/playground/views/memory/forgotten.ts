import { RequestError, type Memory } from '@agent-workflow/client';
import { signal } from '@preact/signals';
import { faultOf } from '../../session/fault.ts';
import { go } from '../../session/route.ts';
import { lastingClient } from '../../session/session.ts';
import { toast } from '../../ui/toasts.tsx';
import { titleOfMemory } from './memory-words.ts';

/** The memories that are forgotten, or about to be: they are not shown while the service may still have them. */
const forgotten = signal<ReadonlySet<string>>(new Set());

export const isForgotten = (id: string): boolean => forgotten.value.has(id);

/** How long a failure is said, in milliseconds. */
const failureMs = 15_000;

/** Forgets a memory after the seconds in which it can be taken back. One that cannot be forgotten comes back. */
export function forgetLater(memory: Memory, query: Readonly<Record<string, string>>): void {
  const title = titleOfMemory(memory);
  const show = (): void => {
    forgotten.value = new Set([...forgotten.peek()].filter((id) => id !== memory.id));
  };
  forgotten.value = new Set([...forgotten.peek(), memory.id]);
  const client = lastingClient();
  toast({
    text: `Forgotten: ${title}`,
    undo: () => {
      show();
      go({ view: 'memory', id: memory.id, query });
    },
    onGone: () => {
      client.memories.delete(memory.id, { scope: memory.scope }).catch((error: unknown) => {
        if (error instanceof RequestError && error.status === 404) return;
        show();
        toast({ text: `Not forgotten: ${title}. ${faultOf(error).what}`, ms: failureMs });
      });
    },
  });
}
