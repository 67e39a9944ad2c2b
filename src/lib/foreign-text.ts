/**
 * Text of an operator that is not plain UTF-8: it begins with the byte order mark with which some editors begin a file,
 * or has the character that replaces bytes that are not UTF-8, with which different texts become the same one.
 */
export const foreignText = /^\uFEFF|\uFFFD/;
