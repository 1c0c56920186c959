/** For how long a button says that it has copied, in milliseconds. */
const shownMs = 1500;

/** Gives each block of code a button that copies it. */
export function addCopyButtons() {
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.setAttribute('aria-label', 'Copy the code');
    button.addEventListener('click', () => void copyFrom(block, button));
    block.querySelector('p').append(button);
  }
  const status = document.createElement('p');
  status.className = 'announced';
  status.setAttribute('role', 'status');
  document.querySelector('main').append(status);
}

async function copyFrom(block, button) {
  const isDone = await copyText(block.querySelector('code').textContent.trimEnd()).catch(() => false);
  const word = isDone ? 'Copied' : 'Not copied';
  button.textContent = word;
  document.querySelector('.announced').textContent = word;
  setTimeout(() => {
    button.textContent = 'Copy';
    document.querySelector('.announced').textContent = '';
  }, shownMs);
}

/** Copies a text. A page over plain HTTP from another machine has no clipboard of its own: it copies from a box that is chosen. */
async function copyText(text) {
  if (isSecureContext) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const focused = document.activeElement;
  const box = document.createElement('textarea');
  box.value = text;
  document.body.append(box);
  box.select();
  const isDone = document.execCommand('copy');
  box.remove();
  focused?.focus();
  return isDone;
}
