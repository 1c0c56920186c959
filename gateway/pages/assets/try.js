/** Sends the requests of the reference from the page: to this origin alone, with a token that lives as long as the page. */
let described;
let token = '';

/** As much of a reply is shown, in characters. */
const maxShown = 256 * 1024;

/** Gives each operation a button that opens a form for its request. */
export function addTryButtons() {
  for (const section of document.querySelectorAll('[data-operation]')) {
    const button = element('button', { type: 'button', className: 'button', textContent: 'Try it' });
    button.addEventListener('click', () => void open(section, button));
    section.querySelector('.access').append(' ', button);
  }
}

async function open(section, button) {
  const old = section.querySelector('form');
  if (old) {
    // A stream that goes on unseen would hold one of the few connections.
    old.dispatchEvent(new Event('close'));
    old.remove();
    button.setAttribute('aria-expanded', 'false');
    return;
  }
  section.querySelector('.not-loaded')?.remove();
  button.disabled = true;
  const failure = await readDescription().then(() => undefined, failureOf);
  button.disabled = false;
  if (failure) {
    button.after(failure);
    button.focus();
    return;
  }
  const form = formOf(routedOf(section.dataset.operation));
  section.querySelector('.code').after(form);
  button.setAttribute('aria-expanded', 'true');
  form.querySelector('input, textarea, button').focus();
}

async function readDescription() {
  if (described) return;
  const reply = await fetch('/openapi.json');
  if (!reply.ok) throw new Error(`status ${reply.status}`);
  described = await reply.json();
}

function failureOf({ message }) {
  const text = `The form could not be loaded (${message}). Try again.`;
  const failure = element('span', { className: 'not-loaded', textContent: text });
  failure.setAttribute('role', 'alert');
  return failure;
}

function routedOf(id) {
  for (const [path, methods] of Object.entries(described.paths))
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
  throw new Error(`there is no operation ${id}`);
}

function formOf({ path, method, operation }) {
  const form = element('form', { className: 'try' });
  const parameters = (operation.parameters ?? []).map((parameter) => ({ parameter, input: inputOf(form, parameter) }));
  const isSecured = described.security.length > 0 && operation.security?.length !== 0;
  const secret = isSecured ? fieldOf(form, 'Bearer token', { type: 'password', value: token }) : undefined;
  const [media, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const isForm = media === 'multipart/form-data';
  const body = media && fieldOf(form, isForm ? 'File' : 'Body', isForm ? { type: 'file' } : { rows: 8 });
  if (body && !isForm) body.value = JSON.stringify(content.example ?? {}, null, 2);
  const send = element('button', { className: 'button button-first', textContent: 'Send' });
  const reply = element('div', { className: 'answer' });
  form.append(send, reply);
  let running;
  form.addEventListener('close', () => running?.abort());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (running) {
      running.abort();
      return;
    }
    token = secret?.value ?? token;
    running = new AbortController();
    send.textContent = 'Stop';
    const request = requestOf({ path, method, parameters, body, media, isSecured, signal: running.signal });
    void show(reply, request).finally(() => {
      running = undefined;
      send.textContent = 'Send';
    });
  });
  return form;
}

const inputOf = (form, { name, in: place, required, example, content }) => {
  const given = example ?? Object.values(content ?? {})[0]?.example;
  const value = place === 'path' || required ? textOf(given) : '';
  return fieldOf(form, `${name} (${place})`, { value, placeholder: textOf(given), required: required ?? false });
};

const textOf = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

function fieldOf(form, name, properties) {
  const label = element('label');
  const field = element('rows' in properties ? 'textarea' : 'input', { autocomplete: 'off', ...properties });
  label.append(element('span', { textContent: name }), field);
  form.append(label);
  return field;
}

function requestOf({ path, method, parameters, body, media, isSecured, signal }) {
  const headers = new Headers();
  const query = new URLSearchParams();
  let address = path;
  for (const { parameter, input } of parameters) {
    if (parameter.in === 'path') address = address.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value !== '' && parameter.in === 'query') query.set(parameter.name, input.value);
    else if (input.value !== '') headers.set(parameter.name, input.value);
  }
  if (isSecured && token !== '') headers.set('authorization', `Bearer ${token}`);
  if (media && !body.files) headers.set('content-type', media);
  const form = new FormData();
  if (body?.files?.[0]) form.set('file', body.files[0]);
  const sent = !media ? undefined : body.files ? form : body.value;
  const search = query.size === 0 ? '' : `?${query}`;
  return { address: `${address}${search}`, init: { method, headers, body: sent, signal } };
}

/** Shows the status at once, and the body as it comes. */
async function show(place, { address, init }) {
  const began = performance.now();
  const status = element('p', { textContent: 'Sent' });
  status.setAttribute('role', 'status');
  const text = element('code');
  const block = element('pre', { tabIndex: 0 });
  block.setAttribute('aria-label', 'The reply');
  block.setAttribute('role', 'region');
  block.append(text);
  place.replaceChildren(status, block);
  try {
    const reply = await fetch(address, init);
    const ms = () => `${Math.round(performance.now() - began)} ms`;
    status.textContent = `${reply.status} ${reply.statusText} · ${ms()}`;
    const all = await readAll(reply, text);
    if (all.length < maxShown && reply.headers.get('content-type')?.startsWith('application/json'))
      text.textContent = pretty(all);
    status.textContent = `${reply.status} ${reply.statusText} · ${ms()}`;
  } catch (error) {
    status.textContent = init.signal.aborted ? 'Stopped' : `No reply: ${error.message}`;
  }
}

async function readAll(reply, place) {
  const decoder = new TextDecoder();
  let all = '';
  for await (const bytes of chunksOf(reply.body)) {
    const text = decoder.decode(bytes, { stream: true }).slice(0, maxShown - all.length);
    all += text;
    place.append(text);
    if (all.length >= maxShown) {
      place.append('\n… the rest is not shown');
      return all;
    }
  }
  return all;
}

async function* chunksOf(stream) {
  const reader = stream?.getReader();
  try {
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) return;
      yield value;
    }
  } finally {
    void reader?.cancel();
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const element = (name, properties = {}) => Object.assign(document.createElement(name), properties);
