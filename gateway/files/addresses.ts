import { createSeal } from '@agent-workflow/kit/seal';

/** The file that an address gives, and to whom it belongs. */
interface Addressed {
  readonly owner: string;
  readonly fileId: string;
  /** The id of the API key by which its maker had come: it counts as long as that does. */
  readonly keyId?: string;
  /** The id of the share by which its maker reads the file: it counts as long as that does. */
  readonly shareId?: string;
  /** Until when, in milliseconds since 1970. */
  readonly until: number;
}

/** Makes and reads addresses of files that are read without credentials. */
export interface FileAddresses {
  /** The last part of the address: it is opaque, and lasts for ten minutes. */
  readonly make: (file: Omit<Addressed, 'until'>) => { readonly token: string; readonly until: number };
  /** `undefined` for a text that was not made here, and at the end of its time. */
  readonly read: (token: string) => Addressed | undefined;
}

/** How long an address is valid, in milliseconds. */
const addressMs = 10 * 60_000;

/** What a token holds. */
type Sealed = readonly [owner: string, fileId: string, until: number, keyId?: string | null, shareId?: string | null];

/** The longest token has an owner of 256 characters outside of ASCII and an id of 256 characters. A longer text was not made here. */
const maxTokenLength = 4096;

/** Addresses are sealed, because they name the owner. `now` gives milliseconds since 1970. */
export function createFileAddresses(
  secrets: readonly [string, ...string[]],
  now: () => number = Date.now,
): FileAddresses {
  const { seal, open } = createSeal(secrets, 'address of a file');
  return {
    make: ({ owner, fileId, keyId, shareId }) => {
      const until = now() + addressMs;
      const by = shareId !== undefined ? [keyId ?? null, shareId] : keyId !== undefined ? [keyId] : [];
      return { token: seal(JSON.stringify([owner, fileId, until, ...by])), until };
    },
    read: (token) => {
      const text = token.length > maxTokenLength ? undefined : open(token);
      if (text === undefined) return undefined;
      const [owner, fileId, until, keyId, shareId] = JSON.parse(text) as Sealed;
      if (now() >= until) return undefined;
      return { owner, fileId, until, ...(keyId && { keyId }), ...(shareId && { shareId }) };
    },
  };
}
