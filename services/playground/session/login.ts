/** What a tab keeps of a sign-in at a provider, beside its token. */
export interface Login {
  /** When the token is to be renewed, by the clock of this machine, in milliseconds since 1970; absent: its end is not known. */
  readonly renewAt?: number;
  /** Renews the token, and may be good for one time alone. */
  readonly refreshToken?: string;
  /** Names the user when it signs out at the provider. */
  readonly idToken?: string;
}

/** A token with what belongs to it. */
export interface SignedIn {
  readonly token: string;
  readonly login: Login;
}

/** How long before its end a token is renewed, in milliseconds; of one that lives shorter it is the last third. */
const beforeEndMs = 60_000;

/** When a token is renewed that lives `livesMs` from `now`, both in milliseconds. */
export const renewalOf = (now: number, livesMs: number): number => now + livesMs - Math.min(beforeEndMs, livesMs / 3);

/** Whether the token is to be renewed now, and can be. */
export const isRenewalDue = ({ renewAt, refreshToken }: Login, now: number): boolean =>
  refreshToken !== undefined && renewAt !== undefined && now >= renewAt;

/** Reads what a tab has kept; nothing of what is none. */
export function readLogin(kept: string | null): Login {
  try {
    const login: unknown = JSON.parse(kept ?? '{}');
    return typeof login === 'object' && login !== null ? login : {};
  } catch {
    return {};
  }
}
