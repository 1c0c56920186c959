import { useEffect, useRef, useState } from 'preact/hooks';
import { signIn, signInReason, signOut, token } from '../session/session.ts';
import { readSignInSettings } from '../session/sign-in-settings.ts';
import { Fold } from '../ui/fold.tsx';
import { Modal } from '../ui/modal.tsx';

interface SignInProps {
  readonly reason: NonNullable<typeof signInReason.value>;
}

/** Lets the reader sign in at the provider of the service, or with a token, which stays in this tab. Who asked for it may leave, or sign out. */
export function SignIn({ reason }: SignInProps) {
  const provider = useProvider();
  return (
    <Modal title="Sign in" {...(reason === 'wanted' && { onClose: close })}>
      <p>{sentenceOf(reason)}</p>
      {provider?.host !== undefined && (
        <>
          <ProviderButton host={provider.host} />
          <Fold summary="Sign in with a token">
            <TokenForm button="Use this token" />
          </Fold>
        </>
      )}
      {provider && provider.host === undefined && <TokenForm button="Sign in" />}
      {reason === 'wanted' && (
        <div class="row">
          <button type="button" onClick={signOut}>
            Sign out
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      )}
    </Modal>
  );
}

const close = (): void => {
  signInReason.value = undefined;
};

function sentenceOf(reason: SignInProps['reason']): string {
  if (typeof reason === 'object') return `You are not signed in. ${reason.failed}`;
  if (reason === 'wanted') return 'Another token takes the place of the one of this tab.';
  return token.value === ''
    ? 'The service wants to know who you are.'
    : 'The service has refused the token of this tab: it is wrong, or its time is over.';
}

interface KnownProvider {
  /** Absent: there is none. */
  readonly host?: string;
}

/** Where people sign in; `undefined` while that is read. */
function useProvider(): KnownProvider | undefined {
  const [provider, setProvider] = useState<KnownProvider>();
  useEffect(() => {
    void readSignInSettings().then((found) => setProvider(found ? { host: new URL(found.issuer).host } : {}));
  }, []);
  return provider;
}

/** Leads to the provider, and says why it cannot. */
function ProviderButton({ host }: Required<KnownProvider>) {
  const [fault, setFault] = useState<string>();
  const [isLeaving, setIsLeaving] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  const leave = async (): Promise<void> => {
    setIsLeaving(true);
    setFault(undefined);
    const { beginSignIn, sentenceOf: faultOf } = await import('../session/provider.ts');
    try {
      await beginSignIn();
    } catch (error) {
      setFault(faultOf(error));
      setIsLeaving(false);
    }
  };
  return (
    <div class="stack">
      <button ref={button} type="button" class="button-first" disabled={isLeaving} onClick={() => void leave()}>
        Sign in with {host}
      </button>
      {fault !== undefined && (
        <p class="note note-error" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}

interface TokenFormProps {
  readonly button: string;
}

/** What is typed goes into its field at once. */
function TokenForm({ button }: TokenFormProps) {
  const [given, setGiven] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    signIn(given);
  };
  return (
    <form class="stack" onSubmit={onSubmit}>
      <label>
        Bearer token
        <input
          ref={field}
          type="password"
          autocomplete="off"
          required
          value={given}
          onInput={(event) => setGiven(event.currentTarget.value)}
        />
      </label>
      <p class="hint">It stays in this tab and goes with it.</p>
      <div class="row">
        <button type="submit">{button}</button>
      </div>
    </form>
  );
}
