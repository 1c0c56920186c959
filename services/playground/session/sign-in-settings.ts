/** Where people sign in, as the gateway says it. */
export interface SignInSettings {
  readonly issuer: string;
  readonly client_id: string;
  readonly scopes: string;
  readonly audience?: string;
}

let reading: Promise<SignInSettings | undefined> | undefined;

/** Reads where people sign in; `undefined` where there is no such place, or the gateway cannot be reached. It is read again after a failure. */
export const readSignInSettings = (): Promise<SignInSettings | undefined> =>
  (reading ??= fetchSettings().catch(() => {
    reading = undefined;
    return undefined;
  }));

async function fetchSettings(): Promise<SignInSettings | undefined> {
  const response = await fetch('/playground/sign-in.json');
  if (!response.ok) throw new Error('the settings cannot be read');
  const settings = (await response.json()) as Partial<SignInSettings>;
  return settings.issuer === undefined ? undefined : (settings as SignInSettings);
}
