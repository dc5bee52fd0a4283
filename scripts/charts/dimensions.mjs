// @ts-check

/** So narrow that no text is tiny where a phone shrinks it to its own width, of 360 pixels or so. */
export const WIDTH = 520;
export const MARGIN = 14;
export const NAME_SIZE = 16;
export const NOTE_SIZE = 15;

/** From the top of the picture to its rows. */
export const ROWS_Y = 94;

/** From the top of a row: the name and the figures stand above the bar, so that both have the whole width. */
export const ROW_HEIGHT = 44;
export const NAME_Y = 19;
export const BAR_Y = 25;
export const BAR_HEIGHT = 14;
export const MIDDLE_Y = BAR_Y + BAR_HEIGHT / 2;
