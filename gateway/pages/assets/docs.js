import { addCopyButtons } from './copy.js';
import { openSearch } from './search.js';
import { addTryButtons } from './try.js';

/** Where the playground keeps the theme, too. */
const themeKey = 'theme';
const themes = { system: 'System', light: 'Light', dark: 'Dark' };

/** Shows the choice of the theme. */
function offerThemes() {
  const label = document.querySelector('.theme');
  const select = label.querySelector('select');
  for (const [value, name] of Object.entries(themes)) select.append(new Option(name, value));
  select.value = document.documentElement.dataset.theme ?? 'system';
  select.addEventListener('change', () => {
    document.documentElement.dataset.theme = select.value;
    if (select.value === 'system') localStorage.removeItem(themeKey);
    else localStorage.setItem(themeKey, select.value);
  });
  label.hidden = false;
}

/** The button that opens the search, and the keys that do the same. */
function offerSearch() {
  const button = document.querySelector('.find');
  button.addEventListener('click', () => openSearch());
  button.hidden = false;
  document.addEventListener('keydown', (event) => {
    const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
    const isPalette = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
    if (!isSlash && !isPalette) return;
    event.preventDefault();
    openSearch();
  });
}

const isTyping = (target) => target instanceof Element && target.matches('input, textarea, select');

/** Where the list of pages floats, a link within the page closes it. */
function closeContents() {
  const topics = document.getElementById('frameTopics');
  topics.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('a') && topics.matches(':popover-open')) topics.hidePopover();
  });
}

/** The page that is open is seen in a list that is longer than the window. */
function showCurrent() {
  document.querySelector('#frameTopics [aria-current]')?.scrollIntoView({ block: 'nearest' });
}

/** Marks the section that is read, in the list of those of the page. */
function markRead() {
  const links = [...document.querySelectorAll('.here a')];
  const sections = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  if (links.length === 0) return;
  let isScheduled = false;
  const mark = () => {
    isScheduled = false;
    const { scrollTop, scrollHeight, clientHeight } = document.documentElement;
    // A heading that a link leads to stands as far below the edge as the page is padded. The last section may never come so far up.
    const isAtEnd = scrollTop > 0 && scrollTop + clientHeight >= scrollHeight - 1;
    const at = isAtEnd
      ? links.length - 1
      : sections.findLastIndex((section) => section && section.getBoundingClientRect().top < readFrom);
    links.forEach((link, index) => {
      if (index === Math.max(0, at)) link.setAttribute('aria-current', 'location');
      else link.removeAttribute('aria-current');
    });
  };
  const schedule = () => {
    if (!isScheduled) requestAnimationFrame(mark);
    isScheduled = true;
  };
  document.addEventListener('scroll', schedule, { passive: true });
  addEventListener('resize', schedule);
  mark();
}

/** A section whose heading is so near to the upper edge is read, in pixels. */
const readFrom = 120;

/** Links to the viewer that once showed the reference name an operation as `#/tag/operationId`: they lead to its place. */
function openOldLink() {
  const [, tag, operation] = /^#\/([^/]+)(?:\/([^/]+))?$/.exec(location.hash) ?? [];
  if (tag === undefined) return;
  const link = [...document.querySelectorAll('.operations a')].find(({ hash }) => hash === `#${operation}`);
  if (link) location.replace(link.href);
  else if (document.getElementById(tag)) location.replace(`#${tag}`);
}

offerThemes();
offerSearch();
closeContents();
showCurrent();
markRead();
openOldLink();
addCopyButtons();
addTryButtons();
