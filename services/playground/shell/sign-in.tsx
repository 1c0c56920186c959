import { useState } from 'preact/hooks';
import { signIn, signInReason, token } from '../session/session.ts';
import { Modal } from '../ui/modal.tsx';

/** Asks for the bearer token that the service wants, and keeps it for this tab. A reader who asked for it may leave, or sign out. */
export function SignIn({ reason }: { readonly reason: 'refused' | 'wanted' }) {
  const [given, setGiven] = useState('');
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    signIn(given);
  };
  const close = (): void => {
    signInReason.value = undefined;
  };
  return (
    <Modal title="Sign in" {...(reason === 'wanted' && { onClose: close })}>
      <p>{sentenceOf(reason)}</p>
      <form class="stack" onSubmit={onSubmit}>
        <label>
          Bearer token
          <input
            type="password"
            autocomplete="off"
            required
            value={given}
            onInput={(event) => setGiven(event.currentTarget.value)}
          />
        </label>
        <p class="hint">It stays in this tab and goes with it.</p>
        <div class="row">
          <button type="submit">Sign in</button>
          {reason === 'wanted' && (
            <>
              <button type="button" onClick={() => signIn('')}>
                Sign out
              </button>
              <button type="button" onClick={close}>
                Cancel
              </button>
            </>
          )}
        </div>
      </form>
    </Modal>
  );
}

function sentenceOf(reason: 'refused' | 'wanted'): string {
  if (reason === 'wanted') return 'Another token takes the place of the one of this tab.';
  return token.value === ''
    ? 'The service asks for a bearer token.'
    : 'The service has refused the token of this tab: it is wrong, or its time is over.';
}
