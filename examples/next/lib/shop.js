// @ts-check
/** Stands for the database and the bank. */
export { Shop } from "../../express/shop.mjs";
