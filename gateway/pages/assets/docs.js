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

offerThemes();
offerSearch();
closeContents();
showCurrent();
addCopyButtons();
addTryButtons();
