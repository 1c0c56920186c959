/** The search over all pages: a dialog with a box and the parts of pages that hold every word of it. */
let parts;
let isLoading = false;

/** As many are shown as one looks through. */
const most = 20;

const dialog = makeDialog();

/** Opens the search, and reads what there is to find when it is opened first. */
export function openSearch() {
  if (dialog.element.open) return;
  document.body.append(dialog.element);
  dialog.element.showModal();
  dialog.box.select();
  show();
}

async function readParts() {
  isLoading = true;
  try {
    const reply = await fetch('/docs/search.json');
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    parts = (await reply.json()).map((part) => ({
      ...part,
      ...{ foldedPage: folded(part.page), foldedHeading: folded(part.heading), foldedText: folded(part.text) },
    }));
    isLoading = false;
    show();
  } catch {
    isLoading = false;
    dialog.status.textContent = 'The search could not be loaded. It is tried again when you type.';
  }
}

function makeDialog() {
  const element = document.createElement('dialog');
  element.className = 'search';
  element.setAttribute('aria-label', 'Search the documentation');
  const box = document.createElement('input');
  // Not a box of type search: there Escape empties the box before it closes the dialog.
  box.setAttribute('role', 'searchbox');
  box.placeholder = 'Search the documentation';
  box.autocomplete = 'off';
  box.spellcheck = false;
  box.setAttribute('aria-label', 'Search the documentation');
  const status = document.createElement('p');
  status.setAttribute('role', 'status');
  const list = document.createElement('ul');
  element.append(box, status, list);
  box.addEventListener('input', show);
  element.addEventListener('keydown', move);
  element.addEventListener('click', ({ target }) => {
    // The dialog itself is hit beside its content, and a link within the page leaves the dialog open.
    if (target === element || (target instanceof Element && target.closest('a'))) element.close();
  });
  return { element, box, status, list };
}

/** Lower case, without accents: `cafe` finds `Café`. */
const folded = (text) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

function show() {
  const words = folded(dialog.box.value).split(/\s+/).filter(Boolean);
  if (words.length === 0 || parts === undefined) {
    dialog.list.replaceChildren();
    dialog.status.textContent = words.length === 0 ? '' : 'Loading';
    if (parts === undefined && !isLoading) void readParts();
    return;
  }
  const found = parts
    .map((part) => ({ part, score: scoreOf(part, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  dialog.list.replaceChildren(...found.slice(0, most).map(({ part }) => entryOf(part, words)));
  dialog.status.textContent = statusOf(found.length);
}

function statusOf(count) {
  if (count === 0) return 'Nothing found. Try fewer words, or other ones.';
  if (count > most) return `${most} of ${count} results`;
  return count === 1 ? '1 result' : `${count} results`;
}

/** Zero where a word is missing. A word counts most in a heading, and more where a word of the text begins with it. */
function scoreOf({ foldedPage, foldedHeading, foldedText }, words) {
  let score = 0;
  for (const word of words) {
    const best = pointsOf(foldedHeading, word, 40) || pointsOf(foldedPage, word, 20) || pointsOf(foldedText, word, 6);
    if (best === 0) return 0;
    score += best + Math.min(countOf(foldedText, word), 5);
  }
  const query = words.join(' ');
  if (foldedHeading === query) score += 60;
  if (foldedPage === query && foldedHeading === foldedPage) score += 30;
  return score;
}

function pointsOf(text, word, points) {
  const at = text.indexOf(word);
  if (at < 0) return 0;
  return beginsAWord(text, word) ? points : points / 2;
}

function beginsAWord(text, word) {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return true;
  return false;
}

function countOf(text, word) {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0 && count < 5; at = text.indexOf(word, at + word.length)) count += 1;
  return count;
}

function entryOf({ path, page, heading, text }, words) {
  const entry = document.createElement('li');
  const link = document.createElement('a');
  link.href = path;
  const title = document.createElement('b');
  title.append(...marked(heading, words));
  const where = document.createElement('span');
  where.className = 'where';
  where.textContent = page === heading ? '' : page;
  const excerpt = document.createElement('span');
  excerpt.className = 'excerpt';
  excerpt.append(...marked(excerptOf(text, words), words));
  link.append(title, where, excerpt);
  entry.append(link);
  return entry;
}

/** What stands around the first word that the text holds. */
function excerptOf(text, words) {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const from = Math.max(0, Math.min(...(places.length > 0 ? places : [0])) - 40);
  const start = from === 0 ? 0 : text.indexOf(' ', from) + 1;
  return `${start > 0 ? '… ' : ''}${text.slice(start, start + 160)}`;
}

/** A text with its found words marked. */
function marked(text, words) {
  const lower = text.toLowerCase();
  // A letter that changes its length with its case would shift every place behind it.
  if (lower.length !== text.length) return [text];
  const nodes = [];
  let from = 0;
  for (;;) {
    const next = words
      .map((word) => ({ word, at: lower.indexOf(word, from) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at || b.word.length - a.word.length)[0];
    if (!next) break;
    const mark = document.createElement('mark');
    mark.textContent = text.slice(next.at, next.at + next.word.length);
    nodes.push(text.slice(from, next.at), mark);
    from = next.at + next.word.length;
  }
  return [...nodes, text.slice(from)];
}

/** The arrows go from the box into the results and back; Enter in the box opens the first. */
function move(event) {
  // A key that composes a sign of another script is none of ours.
  if (event.isComposing) return;
  const links = [...dialog.list.querySelectorAll('a')];
  const place = links.indexOf(document.activeElement);
  if (event.key === 'Enter' && document.activeElement === dialog.box) {
    links[0]?.click();
  } else if (event.key === 'ArrowDown') {
    links[Math.min(place + 1, links.length - 1)]?.focus();
  } else if (event.key === 'ArrowUp') {
    (links[place - 1] ?? dialog.box).focus();
  } else return;
  event.preventDefault();
}
