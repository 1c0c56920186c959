import type { Block } from '@agent-workflow/client';
import { randomUuid } from '@agent-workflow/kit/uuid';
import { signal, type Signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { readDraft, writeDraft } from '../../session/drafts.ts';

/** A file that goes with the next message of a thread. */
export interface Attached {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  /** Its bytes: only the page that it was chosen on has them. */
  readonly file?: File;
  /** What names it in a message, once the service has stored it. */
  readonly block?: Block;
}

/** The files that go with the next message. */
export interface Attachments {
  readonly files: readonly Attached[];
  /** The names of files that were chosen before the page was loaded again, and are gone with their bytes. */
  readonly lost: readonly string[];
}

const nothing: Attachments = { files: [], lost: [] };

/** The files of the threads of this page, which has their bytes until it is loaded again. */
const ofThreads = new Map<string, Signal<Attachments>>();

/** What a reload leaves: a file that the service has stored needs no bytes; of any other the name is left. */
function restored(text: string): Attachments {
  try {
    const kept = JSON.parse(text) as readonly Attached[];
    const lost = kept.filter(({ block }) => block === undefined).map(({ name }) => name);
    return { files: kept.filter(({ block }) => block !== undefined), lost };
  } catch {
    return nothing;
  }
}

export const toAttached = (file: File): Attached => ({ id: randomUuid(), name: file.name, size: file.size, file });

export interface KeptAttachments {
  readonly attachments: Attachments;
  readonly set: (change: (now: Attachments) => Attachments) => void;
  /** Forgets what was sent. */
  readonly forget: (sent: readonly Attached[]) => void;
}

/** The files attached in a thread. They outlive a change of view, and a reload as far as the service has them. */
export function useAttachments(threadId: string | undefined): KeptAttachments {
  const key = `files ${threadId ?? ''}`;
  const [held] = useState(() => ({ key, files: ofThreads.get(key) ?? signal(restored(readDraft(key))) }));
  useEffect(() => {
    // The first message gives the thread its id, and one that is gone takes it: the files go along.
    if (held.key !== key) drop(held.key);
    held.key = key;
    keep(held);
    // Another drawing of the chat may have sent them.
  }, [held, key, held.files.value]);
  const set: KeptAttachments['set'] = (change) => {
    held.files.value = change(held.files.peek());
    keep(held);
  };
  const forget: KeptAttachments['forget'] = (sent) => {
    const ids = new Set(sent.map(({ id }) => id));
    set(({ files }) => ({ files: files.filter(({ id }) => !ids.has(id)), lost: [] }));
  };
  return { attachments: held.files.value, set, forget };
}

function keep({ key, files }: { readonly key: string; readonly files: Signal<Attachments> }): void {
  const now = files.peek();
  if (now.files.length === 0 && now.lost.length === 0) {
    drop(key);
    return;
  }
  ofThreads.set(key, files);
  const kept = now.files.map(({ id, name, size, block }) => ({ id, name, size, block }));
  writeDraft(key, JSON.stringify([...kept, ...now.lost.map((name) => ({ name }))]));
}

function drop(key: string): void {
  ofThreads.delete(key);
  writeDraft(key, '');
}
