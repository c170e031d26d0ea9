/** Plain text work without the network: enough to make summaries that are worth reading. */

const sentenceSegmenter = new Intl.Segmenter("en", { granularity: "sentence" });
const wordSegmenter = new Intl.Segmenter("en", { granularity: "word" });

const stopWords = new Set(
  (
    "about above after again against also although always among another anything around because been before being below between both cannot " +
    "could does doesn during each either else even every example from further have having here however into itself just like made make makes many " +
    "more most much must need note once only other otherwise over same should since some such than that their them then there these they this " +
    "those through under until used uses using very want well were what when where which while will with within without would your yours"
  ).split(" "),
);

/**
 * Cuts Markdown at its headings. Code, tables, images and marks are left out; sections without prose too.
 * @param {string} markdown
 * @returns {{ title: string, text: string }[]}
 */
export function cutIntoSections(markdown) {
  const sections = [{ title: "Introduction", lines: /** @type {string[]} */ ([]) }];
  let isCode = false;
  for (const line of markdown.split(/\r?\n/)) {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    else if (isCode || /^\s*(\||\[[^\]]+\]:|={3,}|-{3,})/.test(line)) continue;
    else if (/^#{1,6}\s/.test(line)) sections.push({ title: toPlain(line.replace(/^#+/, "")).trim(), lines: [] });
    else sections.at(-1)?.lines.push(toPlain(line));
  }
  return sections.map(({ title, lines }) => ({ title, text: joinProse(lines) })).filter(({ text }) => text !== "");
}

/**
 * The sentences that hold the most frequent words of the text, in the order of the text.
 * @param {string} text
 * @param {number} count
 */
export function bestSentences(text, count) {
  const frequencies = countWords(text);
  const scored = splitSentences(text).map((sentence, index) => {
    const words = [...new Set(wordsOf(sentence))];
    const total = words.reduce((sum, word) => sum + (frequencies.get(word) ?? 0), 0);
    // Damped, so that a long sentence does not win by its length alone.
    return { sentence, index, score: total / Math.sqrt(words.length + 4) };
  });
  const best = scored.sort((a, b) => b.score - a.score || a.index - b.index).slice(0, count);
  return best.sort((a, b) => a.index - b.index).map(({ sentence }) => sentence);
}

/** @param {string} text */
export function splitSentences(text) {
  const sentences = text.split("\n").flatMap((paragraph) => [...sentenceSegmenter.segment(paragraph)]);
  return sentences.map(({ segment }) => segment.trim()).filter(isSentence);
}

/**
 * The most frequent words, the most frequent one first.
 * @param {string} text
 * @param {number} count
 */
export function frequentWords(text, count) {
  const counted = [...countWords(text)].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return counted.slice(0, count).map(([word]) => word);
}

/**
 * Lists of names and lines of menus are none.
 * @param {string} text
 */
function isSentence(text) {
  return /[.!?]["')\]]*$/.test(text) && text.length <= 400 && wordsOf(text).length >= 3;
}

/** @param {string} text */
function countWords(text) {
  const counts = new Map();
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** @param {string} text */
function wordsOf(text) {
  const words = [...wordSegmenter.segment(text)].filter(({ isWordLike }) => isWordLike);
  return words.map(({ segment }) => segment.toLowerCase()).filter((word) => /^[a-z]{4,}/.test(word) && !stopWords.has(word));
}

/**
 * One paragraph on each line; consecutive lines are one paragraph.
 * @param {string[]} lines
 */
function joinProse(lines) {
  const paragraphs = lines.join("\n").split(/\n{2,}/);
  return paragraphs
    .map((paragraph) => paragraph.replaceAll(/\s+/g, " ").trim())
    .filter((paragraph) => splitSentences(paragraph).length > 0)
    .join("\n");
}

/** @param {string} line */
function toPlain(line) {
  return (
    line
      .slice(0, 2_000)
      .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, "")
      .replaceAll(/\[([^[\]]*)\](\([^()]*\)|\[[^[\]]*\])/g, "$1")
      .replaceAll(/<[^<>]*>/g, "")
      .replace(/^\s*>\s?/, "")
      // The items of a list are paragraphs of their own.
      .replace(/^\s*([-*+]|\d+\.)\s+/, "\n\n")
      .replaceAll(/[*`#]|__|\\(?=[^\w\s])/g, "")
      .trimEnd()
  );
}
