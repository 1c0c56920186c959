import { useState } from 'preact/hooks';
import { signIn, token } from '../session/session.ts';
import { Modal } from '../ui/modal.tsx';

/** Asks for the bearer token that the service wants, and keeps it for this tab. */
export function SignIn() {
  const [given, setGiven] = useState('');
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    signIn(given);
  };
  return (
    <Modal title="Sign in">
      <p>{token.value === '' ? 'The service asks for a bearer token.' : 'The service needs another bearer token.'}</p>
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
        <button type="submit">Sign in</button>
      </form>
    </Modal>
  );
}
